import { posix } from 'node:path';
import picomatch from 'picomatch';
import { globProblem } from '../../core/glob.ts';
import type { Subtask } from '../files/feature.ts';

/** Deliverables of two subtasks that may name the same file. */
export interface Overlap {
  readonly first: string;
  readonly second: string;
}

/** Subtasks are compared with many others. */
const parsed = new WeakMap<Subtask, readonly (readonly Pattern[])[]>();

/** The first deliverables that meet; undefined where none do. What is taken out again with `!` is not asked about. */
export function findOverlap(a: Subtask, b: Subtask): Overlap | undefined {
  const [ours, theirs] = [patternsOf(a), patternsOf(b)];
  for (const [i, first] of ours.entries()) {
    for (const [j, second] of theirs.entries()) {
      if (first.some((one) => second.some((other) => patternsIntersect(one, other)))) {
        return { first: a.deliverables[i]!, second: b.deliverables[j]! };
      }
    }
  }
  return undefined;
}

function patternsOf(subtask: Subtask): readonly (readonly Pattern[])[] {
  let patterns = parsed.get(subtask);
  if (patterns === undefined) {
    patterns = subtask.deliverables.map((one) => (isNegated(one) ? [] : parsePatterns(one)));
    parsed.set(subtask, patterns);
  }
  return patterns;
}

/** A path or glob, level by level; `**` is any number of levels. */
export type Pattern = readonly (Segment | '**')[];

const MAX_ALTERNATIVES = 64;

/**
 * The patterns of a deliverable: one for each alternative of its braces. A path without a glob stands for itself and
 * for everything below it, for it may be a folder. Letters are compared without their case, for on many systems they
 * name the same file.
 */
export function parsePatterns(deliverable: string): Pattern[] {
  // It is refused elsewhere; until then it may stand for anything.
  if (globProblem(deliverable) !== undefined) return [['**']];
  return expandBraces(deliverable.trim().normalize('NFC').toLowerCase()).map((text) => {
    const path = posix.normalize(text.replaceAll('\\', '/'));
    const isFolder = path.endsWith('/') || !isGlob(path);
    const names = path.split('/').filter((name) => name !== '' && name !== '.');
    const pattern = names.map((name) => (name === '**' ? '**' : parseSegment(name)));
    return isFolder && pattern.at(-1) !== '**' ? [...pattern, '**'] : pattern;
  });
}

/** What is taken out again; `!(a|b)` is a glob of its own. */
export function isNegated(deliverable: string): boolean {
  return deliverable.startsWith('!') && deliverable[1] !== '(';
}

function isGlob(path: string): boolean {
  return picomatch.scan(path).isGlob;
}

/** Whether some path matches both. */
export function patternsIntersect(a: Pattern, b: Pattern): boolean {
  // How much of each a path may have used up. A list of what is still to be looked at, for a path may be long.
  const seen = new Set<number>();
  const open: (readonly [number, number])[] = [];
  const add = (i: number, j: number) => {
    const key = i * (b.length + 1) + j;
    if (i > a.length || j > b.length || seen.has(key)) return;
    seen.add(key);
    open.push([i, j]);
  };
  add(0, 0);
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [i, j] = next;
    if (i === a.length && j === b.length) return true;
    const [first, second] = [a[i], b[j]];
    if (first === '**' || second === '**') {
      add(i + 1, j);
      add(i, j + 1);
    } else if (first !== undefined && second !== undefined && segmentsIntersect(first, second))
      add(i + 1, j + 1);
  }
  return false;
}

/** Takes `{a,b}` apart, the innermost first. Too many stay as they are, and then stand for anything. */
export function expandBraces(text: string): string[] {
  let texts = [text];
  for (;;) {
    const next = texts.flatMap((one) => {
      const braces = /\{([^{}]*,[^{}]*)\}/.exec(one);
      if (braces === null) return [one];
      const [whole, inside] = braces as unknown as [string, string];
      const [before, after] = [one.slice(0, braces.index), one.slice(braces.index + whole.length)];
      return inside.split(',').map((alternative) => before + alternative + after);
    });
    if (next.length > MAX_ALTERNATIVES || next.length === texts.length) return texts;
    texts = next;
  }
}

/** A part of a name between slashes that stands for one character, or for any number of them. */
type Part =
  | { readonly type: 'letter'; readonly letter: string }
  | { readonly type: 'one'; readonly set: RegExp | undefined }
  | { readonly type: 'any' };

/** The name of one level of a path, which may be a glob. */
export type Segment = readonly Part[];

const ANY: Part = { type: 'any' };

/** Reads `*`, `?` and `[a-z]`; of everything else that globs know, any text may come. */
export function parseSegment(text: string): Segment {
  // `+(a|b)`, `!(a)` and a `{` that was not taken apart: whatever they stand for, it may be any text.
  if (/[!?*+@]\(/.test(text) || /[{}]/.test(text)) return [ANY];
  const parts: Part[] = [];
  for (let at = 0; at < text.length; ) {
    const sign = text[at]!;
    const set = sign === '[' ? /^\[[^\]]+\]/.exec(text.slice(at))?.[0] : undefined;
    if (set !== undefined) parts.push({ type: 'one', set: setOf(set) });
    else if (sign === '*') parts.push(ANY);
    else if (sign === '?') parts.push({ type: 'one', set: undefined });
    else if (sign === '\\' && at + 1 < text.length) parts.push({ type: 'letter', letter: text[at + 1]! });
    else parts.push({ type: 'letter', letter: sign });
    at += set?.length ?? (sign === '\\' ? 2 : 1);
  }
  return parts;
}

/** Undefined, which is any character, for a set that cannot be read. */
function setOf(text: string): RegExp | undefined {
  try {
    return new RegExp(`^${text.replace(/^\[!/, '[^')}$`, 'i');
  } catch {
    return undefined;
  }
}

/** Whether some name matches both. */
export function segmentsIntersect(a: Segment, b: Segment): boolean {
  // Which places of b can be reached with what of a was read.
  let reached = reachedByNothing(b);
  for (const part of a) {
    const next = new Set<number>();
    if (part.type === 'any') {
      // Whatever of b follows may be read by it.
      const first = Math.min(...reached);
      for (let place = first; place <= b.length; place++) next.add(place);
    } else {
      for (const place of reached) {
        const other = b[place];
        if (other === undefined) continue;
        if (other.type === 'any') next.add(place);
        else if (lettersMeet(part, other)) addWithStars(b, place + 1, next);
      }
    }
    for (const place of [...next]) addWithStars(b, place, next);
    reached = next;
    if (reached.size === 0) return false;
  }
  return reached.has(b.length);
}

function reachedByNothing(b: Segment): Set<number> {
  const places = new Set<number>();
  addWithStars(b, 0, places);
  return places;
}

/** A star may also stand for nothing. */
function addWithStars(b: Segment, place: number, into: Set<number>): void {
  into.add(place);
  while (b[place]?.type === 'any') into.add(++place);
}

function lettersMeet(a: Part, b: Part): boolean {
  if (a.type === 'letter' && b.type === 'letter') return a.letter === b.letter;
  if (a.type === 'letter') return b.type !== 'one' || b.set?.test(a.letter) !== false;
  if (b.type === 'letter') return lettersMeet(b, a);
  return true;
}

/**
 * Whether a relative path is one of those that paths, folders and globs name. A path stands for all below it, too; what
 * begins with `!` is taken out again.
 */
export function patternMatcher(patterns: readonly string[], isCaseless = false): (path: string) => boolean {
  const wanted = patterns.filter((one) => !isNegated(one)).map((one) => matcherOf(one, isCaseless));
  const unwanted = patterns.filter(isNegated).map((one) => matcherOf(one.slice(1), isCaseless));
  return (path) => wanted.some((matches) => matches(path)) && !unwanted.some((matches) => matches(path));
}

function matcherOf(pattern: string, isCaseless: boolean): (path: string) => boolean {
  const cased = (text: string) => (isCaseless ? text.toLowerCase() : text);
  const plain = posix.normalize(pattern.trim().replaceAll('\\', '/')).replace(/(?<=.)\/$/, '');
  if (plain === '.') return () => true;
  const name = cased(plain);
  const isGlob = globProblem(plain) === undefined && picomatch.scan(plain).isGlob;
  const glob = isGlob ? picomatch(plain, { dot: true, nocase: isCaseless }) : undefined;
  // A name may hold what a glob gives a meaning to: `app/[id]/page.tsx`.
  return (path) => cased(path) === name || cased(path).startsWith(`${name}/`) || glob?.(path) === true;
}
