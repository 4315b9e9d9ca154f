import { posix } from 'node:path';
import picomatch from 'picomatch';
import { globProblem } from '../../core/glob.ts';
import { parseSegment, type Segment, segmentsMeet } from './segment.ts';

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
  return alternativesOf(deliverable.trim().normalize('NFC').toLowerCase()).map((text) => {
    const path = posix.normalize(text.replaceAll('\\', '/'));
    const isFolder = path.endsWith('/') || !isGlob(path);
    const names = path.split('/').filter((name) => name !== '' && name !== '.');
    const pattern = names.map((name) => (name === '**' ? '**' : parseSegment(name)));
    return isFolder && pattern.at(-1) !== '**' ? [...pattern, '**'] : pattern;
  });
}

/** What is taken out again; `!(a|b)` is a glob of its own. */
export function isNegative(deliverable: string): boolean {
  return deliverable.startsWith('!') && deliverable[1] !== '(';
}

function isGlob(path: string): boolean {
  return picomatch.scan(path).isGlob;
}

/** Whether some path matches both. */
export function patternsMeet(a: Pattern, b: Pattern): boolean {
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
    } else if (first !== undefined && second !== undefined && segmentsMeet(first, second)) add(i + 1, j + 1);
  }
  return false;
}

/** Takes `{a,b}` apart, the innermost first. Too many stay as they are, and then stand for anything. */
export function alternativesOf(text: string): string[] {
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
