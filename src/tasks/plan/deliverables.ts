import { posix } from 'node:path';
import { globProblem } from '../../core/glob.ts';
import { isGlob, isNegated } from '../../tools/pattern/path-patterns.ts';
import type { Subtask } from '../files/feature.ts';

/** Deliverables of two subtasks that may name the same file. */
interface Overlap {
  readonly first: string;
  readonly second: string;
}

/** A path or glob, level by level; `**` is any number of levels. */
type Pattern = readonly (Segment | '**')[];

/** The name of one level of a path, which may be a glob. */
type Segment = readonly Part[];

type Part =
  | { readonly type: 'letter'; readonly letter: string }
  | { readonly type: 'one'; readonly set: RegExp | undefined }
  | { readonly type: 'any' };

const ANY: Part = { type: 'any' };
const MAX_ALTERNATIVES = 64;

/** A cache: subtasks are compared with many others. */
const parsed = new WeakMap<Subtask, readonly (readonly Pattern[])[]>();

/** Why a path or glob is not usable as a path within the project; undefined if it is. */
export function projectPathProblem(path: string): string | undefined {
  if (path.trim() === '') return 'is empty';
  if (path.includes('\0')) return 'contains a NUL character';
  if (posix.isAbsolute(path) || /^[a-z]:[\\/]/i.test(path)) return 'is an absolute path';
  const problem = globProblem(path);
  if (problem !== undefined) return problem;
  const [first] = posix.normalize(path.replaceAll('\\', '/')).split('/');
  return first === '..' ? 'is outside the project' : undefined;
}

/** The first pair of overlapping deliverables; undefined if there is none. Exclusions are ignored. */
export function findOverlap(a: Subtask, b: Subtask): Overlap | undefined {
  const [ours, theirs] = [patternsOf(a), patternsOf(b)];
  for (const [i, first] of ours.entries()) {
    for (const [j, second] of theirs.entries()) {
      if (first.some((one) => second.some((other) => patternsIntersect(one, other))))
        return { first: a.deliverables[i]!, second: b.deliverables[j]! };
    }
  }
  return undefined;
}

/** Finds subtasks whose deliverables overlap without comparing all pairs: most differ in the literal beginnings of their paths. */
export class OverlapIndex {
  /** By the literal beginning of a pattern, as a path. */
  private readonly byStart = new Map<string, Set<Subtask>>();
  /** By every folder above and including that beginning. */
  private readonly byFolder = new Map<string, Set<Subtask>>();

  add(subtask: Subtask): void {
    for (const names of startsOf(subtask)) {
      addTo(this.byStart, names.join('/'), subtask);
      for (let length = 0; length <= names.length; length++)
        addTo(this.byFolder, names.slice(0, length).join('/'), subtask);
    }
  }

  /** The added subtasks that overlap with this one, in the order in which they were added. */
  overlapping(subtask: Subtask): Subtask[] {
    const candidates = new Set<Subtask>();
    for (const names of startsOf(subtask)) {
      for (const one of this.byFolder.get(names.join('/')) ?? []) candidates.add(one);
      for (let length = 0; length < names.length; length++)
        for (const one of this.byStart.get(names.slice(0, length).join('/')) ?? []) candidates.add(one);
    }
    return [...candidates].filter((one) => findOverlap(one, subtask) !== undefined);
  }
}

function addTo(index: Map<string, Set<Subtask>>, key: string, subtask: Subtask): void {
  const found = index.get(key);
  if (found === undefined) index.set(key, new Set([subtask]));
  else found.add(subtask);
}

/** The names with which the patterns of a subtask begin, up to the first that is a glob. */
function startsOf(subtask: Subtask): string[][] {
  return patternsOf(subtask).flatMap((patterns) =>
    patterns.map((pattern) => {
      const names: string[] = [];
      for (const segment of pattern) {
        if (segment === '**' || segment.some(({ type }) => type !== 'letter')) break;
        names.push(segment.map((part) => (part.type === 'letter' ? part.letter : '')).join(''));
      }
      return names;
    }),
  );
}

function patternsOf(subtask: Subtask): readonly (readonly Pattern[])[] {
  let patterns = parsed.get(subtask);
  if (patterns === undefined) {
    patterns = subtask.deliverables.map((one) => (isNegated(one) ? [] : parsePatterns(one)));
    parsed.set(subtask, patterns);
  }
  return patterns;
}

/**
 * Parses a deliverable into one pattern for each brace alternative. A path that is not a glob may be a folder, so it
 * includes everything below it. Case is ignored, since many file systems ignore it.
 */
export function parsePatterns(deliverable: string): Pattern[] {
  // Validation reports it; until it is fixed it may match anything.
  if (globProblem(deliverable) !== undefined) return [['**']];
  return expandBraces(deliverable.trim().normalize('NFC').toLowerCase()).map((text) => {
    const path = posix.normalize(text.replaceAll('\\', '/'));
    const isFolder = path.endsWith('/') || !isGlob(path);
    const names = path.split('/').filter((name) => name !== '' && name !== '.');
    const pattern = names.map((name) => (name === '**' ? '**' : parseSegment(name)));
    return isFolder && pattern.at(-1) !== '**' ? [...pattern, '**'] : pattern;
  });
}

/** Expands `{a,b}`, innermost first. Beyond the limit, braces stay and match anything. */
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

/** Whether some path matches both patterns. */
export function patternsIntersect(a: Pattern, b: Pattern): boolean {
  // States are how much of each pattern is used up. Iterative, since paths may be long.
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

/** Parses `*`, `?` and `[a-z]`. Any other glob syntax matches anything. */
function parseSegment(text: string): Segment {
  // `+(a|b)`, `!(a)`, and braces that were not expanded.
  if (/[!?*+@]\(/.test(text) || /[{}]/.test(text)) return [ANY];
  const parts: Part[] = [];
  for (let at = 0; at < text.length; ) {
    const sign = text[at]!;
    const set = sign === '[' ? /^\[[^\]]+\]/.exec(text.slice(at))?.[0] : undefined;
    if (set !== undefined) parts.push({ type: 'one', set: parseSet(set) });
    else if (sign === '*') parts.push(ANY);
    else if (sign === '?') parts.push({ type: 'one', set: undefined });
    else if (sign === '\\' && at + 1 < text.length) parts.push({ type: 'letter', letter: text[at + 1]! });
    else parts.push({ type: 'letter', letter: sign });
    at += set?.length ?? (sign === '\\' ? 2 : 1);
  }
  return parts;
}

/** An invalid set is undefined, which matches any character. */
function parseSet(text: string): RegExp | undefined {
  try {
    return new RegExp(`^${text.replace(/^\[!/, '[^')}$`, 'i');
  } catch {
    return undefined;
  }
}

/** Whether some name matches both segments. */
function segmentsIntersect(a: Segment, b: Segment): boolean {
  // The positions in b that are reachable after the parts of a so far.
  let reached = new Set<number>();
  addWithStars(b, 0, reached);
  for (const part of a) {
    const next = new Set<number>();
    if (part.type === 'any') {
      for (let place = Math.min(...reached); place <= b.length; place++) next.add(place);
    } else {
      for (const place of reached) {
        const other = b[place];
        if (other === undefined) continue;
        if (other.type === 'any') next.add(place);
        else if (partsIntersect(part, other)) addWithStars(b, place + 1, next);
      }
    }
    for (const place of [...next]) addWithStars(b, place, next);
    reached = next;
    if (reached.size === 0) return false;
  }
  return reached.has(b.length);
}

/** A star may match nothing. */
function addWithStars(b: Segment, place: number, into: Set<number>): void {
  into.add(place);
  while (b[place]?.type === 'any') into.add(++place);
}

function partsIntersect(a: Part, b: Part): boolean {
  if (a.type === 'letter' && b.type === 'letter') return a.letter === b.letter;
  if (a.type === 'letter') return b.type !== 'one' || b.set?.test(a.letter) !== false;
  if (b.type === 'letter') return partsIntersect(b, a);
  return true;
}
