import type { Subtask } from '../feature.ts';
import { isNegative, type Pattern, parsePatterns, patternsMeet } from './pattern.ts';

/** Deliverables of two subtasks that may name the same file. */
export interface Overlap {
  readonly first: string;
  readonly second: string;
}

/** Subtasks are compared with many others. */
const parsed = new WeakMap<Subtask, readonly (readonly Pattern[])[]>();

/** The first deliverables that meet; undefined where none do. What is taken out again with `!` is not asked about. */
export function overlapOf(a: Subtask, b: Subtask): Overlap | undefined {
  const [ours, theirs] = [patternsOf(a), patternsOf(b)];
  for (const [i, first] of ours.entries()) {
    for (const [j, second] of theirs.entries()) {
      if (first.some((one) => second.some((other) => patternsMeet(one, other)))) {
        return { first: a.deliverables[i]!, second: b.deliverables[j]! };
      }
    }
  }
  return undefined;
}

function patternsOf(subtask: Subtask): readonly (readonly Pattern[])[] {
  let patterns = parsed.get(subtask);
  if (patterns === undefined) {
    patterns = subtask.deliverables.map((one) => (isNegative(one) ? [] : parsePatterns(one)));
    parsed.set(subtask, patterns);
  }
  return patterns;
}
