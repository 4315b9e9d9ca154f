import { type CharRange, CharSet, IN_LINE, NAMED_SETS, single } from './char-set.ts';
import { type PatternNode, PatternReader } from './syntax.ts';

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['t', '\t'],
  ['n', '\n'],
  ['r', '\r'],
  ['f', '\f'],
  ['v', '\v'],
  ['0', '\0'],
]);
const MOST_REPETITIONS = 1000;
const UNSUPPORTED = 'cannot be searched for in a time that is sure to be short';

/**
 * The part of JavaScript's regular expressions that can be matched in linear time: all but look-around and
 * back-references. Lazy quantifiers are read as the others, since only whether something matches is asked.
 */
export function parseRegex(text: string): PatternNode {
  const reader = new PatternReader(text);
  const node = choice(reader);
  if (!reader.isAtEnd) throw reader.error('a ")" has no "("');
  return node;
}

function choice(reader: PatternReader): PatternNode {
  const options = [sequence(reader)];
  while (reader.tryTake('|')) options.push(sequence(reader));
  return options.length === 1 ? options[0]! : { kind: 'choice', options };
}

function sequence(reader: PatternReader): PatternNode {
  const parts: PatternNode[] = [];
  while (!reader.isAtEnd && reader.peek() !== '|' && reader.peek() !== ')') {
    parts.push(repeated(reader, atom(reader)));
  }
  return { kind: 'sequence', parts };
}

function repeated(reader: PatternReader, part: PatternNode): PatternNode {
  const counts = quantifier(reader);
  if (counts === undefined) return part;
  if (part.kind === 'assert') throw reader.error('a place such as ^, $ or \\b cannot be repeated');
  reader.tryTake('?');
  if (quantifier(reader) !== undefined)
    throw reader.error('it repeats a repetition; put the inner one in (…)');
  return { kind: 'repeat', part, ...counts };
}

function quantifier(reader: PatternReader): { min: number; max: number } | undefined {
  if (reader.tryTake('*')) return { min: 0, max: Infinity };
  if (reader.tryTake('+')) return { min: 1, max: Infinity };
  if (reader.tryTake('?')) return { min: 0, max: 1 };
  const braces = reader.tryMatch(/^\{(\d+)(,(\d*))?\}/);
  if (braces === undefined) return undefined;
  const min = Number(braces[1]);
  const max = braces[2] === undefined ? min : braces[3] === '' ? Infinity : Number(braces[3]);
  if (min > max) throw reader.error(`${braces[0]} has its numbers in the wrong order`);
  if (min > MOST_REPETITIONS || (max > MOST_REPETITIONS && max !== Infinity)) {
    throw reader.error(`${braces[0]} asks for more than ${MOST_REPETITIONS} repetitions`);
  }
  return { min, max };
}

function atom(reader: PatternReader): PatternNode {
  const character = reader.take();
  switch (character) {
    case '(':
      return group(reader);
    case '[':
      return { kind: 'char', set: characterClass(reader) };
    case '.':
      return { kind: 'char', set: IN_LINE };
    case '^':
      return { kind: 'assert', what: 'start' };
    case '$':
      return { kind: 'assert', what: 'end' };
    case '\\':
      if (reader.tryTake('b')) return { kind: 'assert', what: 'word-edge' };
      if (reader.tryTake('B')) return { kind: 'assert', what: 'no-word-edge' };
      return { kind: 'char', set: escapedSet(reader) };
    case '*':
    case '+':
    case '?':
      throw reader.error(`"${character}" repeats nothing; write "\\${character}" for the character`);
    default:
      return { kind: 'char', set: single(character) };
  }
}

function group(reader: PatternReader): PatternNode {
  if (reader.tryMatch(/^\?<?[=!]/)) throw reader.error(`look-around ${UNSUPPORTED}`);
  const isPlain = reader.tryMatch(/^\?(:|<[A-Za-z_$][\w$]{0,28}>)/) !== undefined;
  if (!isPlain && reader.peek() === '?') throw reader.error('"(?" is followed by something unknown');
  const node = reader.nested(() => choice(reader));
  if (!reader.tryTake(')')) throw reader.error('a "(" has no ")"');
  return node;
}

function escapedSet(reader: PatternReader): CharSet {
  const named = NAMED_SETS.get(reader.peek() ?? '');
  if (named === undefined) return single(escapedCharacter(reader));
  reader.take();
  return named;
}

/** The character that the text after a backslash means. */
function escapedCharacter(reader: PatternReader): string {
  const code = reader.tryMatch(/^(?:x([\da-f]{2})|u([\da-f]{4})|u\{([\da-f]{1,6})\})/i);
  if (code !== undefined) {
    const value = Number.parseInt(code[1] ?? code[2] ?? code[3]!, 16);
    if (value > 0x10ffff) throw reader.error(`\\${code[0]} is no character`);
    return String.fromCodePoint(value);
  }
  const character = reader.take();
  const meaning = ESCAPES.get(character);
  if (meaning !== undefined) return meaning;
  if (/[1-9k]/.test(character)) throw reader.error(`the back-reference \\${character} ${UNSUPPORTED}`);
  if (/[A-Za-z]/.test(character)) throw reader.error(`\\${character} is not known here`);
  return character;
}

function characterClass(reader: PatternReader): CharSet {
  const isNegated = reader.tryTake('^');
  const ranges: CharRange[] = [];
  while (!reader.tryTake(']')) {
    if (reader.isAtEnd) throw reader.error('a "[" has no "]"');
    const first = member(reader);
    const isRange = reader.peek() === '-' && reader.peek(1) !== ']' && reader.peek(1) !== undefined;
    if (typeof first !== 'number' || !isRange) {
      ranges.push(...(typeof first === 'number' ? [[first, first] as const] : first.asRanges()));
      continue;
    }
    reader.take();
    const last = member(reader);
    if (typeof last !== 'number' || last < first) throw reader.error('a range in […] is in the wrong order');
    ranges.push([first, last]);
  }
  return new CharSet(ranges, isNegated);
}

/** One character of a class, or a named set of them. */
function member(reader: PatternReader): number | CharSet {
  const character = reader.take();
  if (character !== '\\') return character.codePointAt(0)!;
  if (reader.tryTake('b')) return 8;
  const named = NAMED_SETS.get(reader.peek() ?? '');
  if (named === undefined) return escapedCharacter(reader).codePointAt(0)!;
  reader.take();
  return named;
}
