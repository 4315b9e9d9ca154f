import type { Subtask } from '../feature.ts';
import { DependencyMap } from './dependencies.ts';

/** The longest chain of subtasks that wait for each other, the first first: no run can have fewer steps. */
export function criticalPath(subtasks: readonly Subtask[]): Subtask[] {
  const map = new DependencyMap(subtasks);
  const length = new Map<string, number>();
  const from = new Map<string, string>();
  let last: string | undefined;
  for (const seq of map.order()) {
    let longest = 0;
    for (const earlier of map.before(seq)) {
      if (length.get(earlier)! <= longest) continue;
      longest = length.get(earlier)!;
      from.set(seq, earlier);
    }
    length.set(seq, longest + 1);
    if (last === undefined || longest + 1 > length.get(last)!) last = seq;
  }
  const path: Subtask[] = [];
  for (let seq = last; seq !== undefined; seq = from.get(seq)) path.push(map.get(seq)!);
  return path.reverse();
}
