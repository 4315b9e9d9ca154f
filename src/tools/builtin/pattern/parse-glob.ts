import { ANY, type CharRange, CharSet, NO_SLASH, single } from './char-set.ts';
import { type PatternNode, PatternReader } from './syntax.ts';

const START: PatternNode = { kind: 'assert', what: 'start' };
const END: PatternNode = { kind: 'assert', what: 'end' };
const SLASH: PatternNode = { kind: 'char', set: single('/') };
const NOTHING: PatternNode = { kind: 'sequence', parts: [] };

/**
 * `*` and `?` stay within a name, `**` as a whole segment crosses folders, `[a-z]`, `[!a-z]` and `{a,b}` are choices,
 * and a backslash takes the next character as it is. Names that begin with a dot are names like others.
 */
export function parseGlob(text: string): PatternNode {
  const reader = new PatternReader(text);
  const parts = sequence(reader, '');
  return { kind: 'sequence', parts: [START, ...parts, END] };
}

/** Reads up to one of the stops, which are not taken. */
function sequence(reader: PatternReader, stops: string): PatternNode[] {
  const parts: PatternNode[] = [];
  for (;;) {
    const next = reader.peek();
    if (next === undefined || stops.includes(next)) return parts;
    parts.push(part(reader));
  }
}

function part(reader: PatternReader): PatternNode {
  const isSegmentStart = '/{,'.includes(reader.peek(-1) ?? '/');
  if (reader.tryMatch(/^\*{2,}/)) {
    const isSegment = isSegmentStart && '/},'.includes(reader.peek() ?? '/');
    if (!isSegment) return repeatOf(NO_SLASH);
    if (!reader.tryTake('/')) return repeatOf(ANY);
    return { kind: 'choice', options: [NOTHING, { kind: 'sequence', parts: [repeatOf(ANY), SLASH] }] };
  }
  const character = reader.take();
  switch (character) {
    case '*':
      return repeatOf(NO_SLASH);
    case '?':
      return { kind: 'char', set: NO_SLASH };
    case '{':
      return alternatives(reader);
    case '[':
      return { kind: 'char', set: characterClass(reader) };
    case '\\':
      return { kind: 'char', set: single(reader.take()) };
    default:
      return { kind: 'char', set: single(character) };
  }
}

function repeatOf(set: CharSet): PatternNode {
  return { kind: 'repeat', part: { kind: 'char', set }, min: 0, max: Infinity };
}

function alternatives(reader: PatternReader): PatternNode {
  const options: PatternNode[] = [];
  do {
    options.push({ kind: 'sequence', parts: reader.nested(() => sequence(reader, ',}')) });
  } while (reader.tryTake(','));
  if (!reader.tryTake('}')) throw reader.error('a "{" has no "}"');
  return { kind: 'choice', options };
}

/** A slash is never one of its characters, so that it stays within a name. */
function characterClass(reader: PatternReader): CharSet {
  const isNegated = reader.tryTake('!') || reader.tryTake('^');
  const ranges: CharRange[] = isNegated ? [[47, 47]] : [];
  let isFirst = true;
  while (isFirst || !reader.tryTake(']')) {
    if (reader.isAtEnd) throw reader.error('a "[" has no "]"');
    const first = member(reader);
    const isRange = reader.peek() === '-' && reader.peek(1) !== ']' && reader.peek(1) !== undefined;
    if (isRange) reader.take();
    const last = isRange ? member(reader) : first;
    if (last < first) throw reader.error('a range in […] is in the wrong order');
    if (isNegated || first > 47 || last < 47) ranges.push([first, last]);
    else ranges.push([first, 46], [48, last]);
    isFirst = false;
  }
  return new CharSet(ranges, isNegated);
}

function member(reader: PatternReader): number {
  const character = reader.take();
  return (character === '\\' ? reader.take() : character).codePointAt(0)!;
}
