import type { Subtask } from '../files/feature.ts';
import { compareSeqs } from '../files/subtask-reference.ts';
import { findOverlap } from './deliverables.ts';

/** What waits for what, by sequence; of dependencies that nobody has nothing is said. */
export class SubtaskGraph {
  private readonly bySeq: ReadonlyMap<string, Subtask>;

  constructor(readonly subtasks: readonly Subtask[]) {
    this.bySeq = new Map(subtasks.map((subtask) => [subtask.seq, subtask]));
  }

  get(seq: string): Subtask | undefined {
    return this.bySeq.get(seq);
  }

  dependencies(seq: string): string[] {
    return this.bySeq.get(seq)?.dependsOn.filter((one) => this.bySeq.has(one)) ?? [];
  }

  /** Whether one waits for the other, directly or through others. */
  waitsFor(seq: string, other: string): boolean {
    const seen = new Set([seq]);
    for (const one of seen) {
      for (const earlier of this.dependencies(one)) {
        if (earlier === other) return true;
        seen.add(earlier);
      }
    }
    return false;
  }

  /** Each behind what it depends on; what is in a circle, or behind one, is left out. */
  order(): string[] {
    const open = new Map([...this.bySeq.keys()].map((seq) => [seq, this.dependencies(seq).length]));
    const after = new Map<string, string[]>();
    for (const seq of this.bySeq.keys()) {
      for (const earlier of this.dependencies(seq)) after.set(earlier, [...(after.get(earlier) ?? []), seq]);
    }
    const order = [...open].flatMap(([seq, count]) => (count === 0 ? [seq] : []));
    for (const seq of order) {
      for (const later of after.get(seq) ?? []) {
        const left = open.get(later)! - 1;
        open.set(later, left);
        if (left === 0) order.push(later);
      }
    }
    return order;
  }
}

/**
 * Subtasks in waves, each of which can run at once when those before it are done: no dependencies inside, no common
 * deliverables, and what may not run beside others is alone. What is in a circle is in no wave.
 */
export function planWaves(subtasks: readonly Subtask[]): Subtask[][] {
  const map = new SubtaskGraph(subtasks);
  let waiting = map
    .order()
    .sort(compareSeqs)
    .map((seq) => map.get(seq)!);
  const done = new Set<string>();
  const waves: Subtask[][] = [];
  while (waiting.length > 0) {
    const ready = waiting.filter(({ seq }) => map.dependencies(seq).every((one) => done.has(one)));
    const wave = selectConcurrent(ready);
    waves.push(wave);
    for (const { seq } of wave) done.add(seq);
    waiting = waiting.filter(({ seq }) => !done.has(seq));
  }
  return waves;
}

/** As many as can run at once, the first first; one alone where that may not run beside others. */
export function selectConcurrent(ready: readonly Subtask[]): Subtask[] {
  const chosen: Subtask[] = [];
  for (const subtask of ready) {
    if (subtask.parallel && chosen.every((other) => findOverlap(subtask, other) === undefined))
      chosen.push(subtask);
  }
  return chosen.length > 0 ? chosen : ready.slice(0, 1);
}

/** The longest chain of subtasks that wait for each other, the first first: no run can have fewer steps. */
export function criticalPath(subtasks: readonly Subtask[]): Subtask[] {
  const map = new SubtaskGraph(subtasks);
  const length = new Map<string, number>();
  const from = new Map<string, string>();
  let last: string | undefined;
  for (const seq of map.order()) {
    let longest = 0;
    for (const earlier of map.dependencies(seq)) {
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

/** The circles in which subtasks wait for each other, each as a path that ends where it began. None shares a subtask. */
export function findCycles(subtasks: readonly Subtask[]): string[][] {
  const cycles: string[][] = [];
  for (let left = subtasks; ; ) {
    const map = new SubtaskGraph(left);
    const free = new Set(map.order());
    const stuck = left.filter(({ seq }) => !free.has(seq));
    if (stuck.length === 0) return cycles;
    const cycle = firstCycle(new SubtaskGraph(stuck), stuck[0]!.seq);
    cycles.push(cycle);
    left = stuck.filter(({ seq }) => !cycle.includes(seq));
  }
}

/** Every one that is left waits for another that is left: following them must come round. */
function firstCycle(map: SubtaskGraph, start: string): string[] {
  const walked: string[] = [];
  let at = start;
  while (!walked.includes(at)) {
    walked.push(at);
    at = map.dependencies(at)[0]!;
  }
  return [...walked.slice(walked.indexOf(at)), at];
}
