import type { Subtask } from '../feature.ts';
import { DependencyMap } from './dependencies.ts';

/** The circles in which subtasks wait for each other, each as a path that ends where it began. None shares a subtask. */
export function cyclesOf(subtasks: readonly Subtask[]): string[][] {
  const cycles: string[][] = [];
  for (let left = subtasks; ; ) {
    const map = new DependencyMap(left);
    const free = new Set(map.order());
    const stuck = left.filter(({ seq }) => !free.has(seq));
    if (stuck.length === 0) return cycles;
    const cycle = firstCycle(new DependencyMap(stuck), stuck[0]!.seq);
    cycles.push(cycle);
    left = stuck.filter(({ seq }) => !cycle.includes(seq));
  }
}

/** Every one that is left waits for another that is left: following them must come round. */
function firstCycle(map: DependencyMap, start: string): string[] {
  const walked: string[] = [];
  let at = start;
  while (!walked.includes(at)) {
    walked.push(at);
    at = map.before(at)[0]!;
  }
  return [...walked.slice(walked.indexOf(at)), at];
}
