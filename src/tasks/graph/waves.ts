import type { Subtask } from '../feature.ts';
import { overlapOf } from '../overlap/deliverables.ts';
import { compareSeqs } from '../seq.ts';
import { DependencyMap } from './dependencies.ts';

/**
 * Subtasks in waves, each of which can run at once when those before it are done: no dependencies inside, no common
 * deliverables, and what may not run beside others is alone. What is in a circle is in no wave.
 */
export function wavesOf(subtasks: readonly Subtask[]): Subtask[][] {
  const map = new DependencyMap(subtasks);
  let waiting = map
    .order()
    .sort(compareSeqs)
    .map((seq) => map.get(seq)!);
  const done = new Set<string>();
  const waves: Subtask[][] = [];
  while (waiting.length > 0) {
    const ready = waiting.filter(({ seq }) => map.before(seq).every((one) => done.has(one)));
    const wave = safeTogether(ready);
    waves.push(wave);
    for (const { seq } of wave) done.add(seq);
    waiting = waiting.filter(({ seq }) => !done.has(seq));
  }
  return waves;
}

/** As many as can run at once, the first first; one alone where that may not run beside others. */
export function safeTogether(ready: readonly Subtask[]): Subtask[] {
  const chosen: Subtask[] = [];
  for (const subtask of ready) {
    if (subtask.parallel && chosen.every((other) => overlapOf(subtask, other) === undefined))
      chosen.push(subtask);
  }
  return chosen.length > 0 ? chosen : ready.slice(0, 1);
}
