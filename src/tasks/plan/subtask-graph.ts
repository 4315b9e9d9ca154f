import type { Subtask } from '../files/feature.ts';
import { compareSeqs } from '../files/subtask-reference.ts';
import { OverlapIndex } from './deliverables.ts';

/** The dependencies between subtasks, by sequence number. Dependencies that do not exist are ignored. */
export class SubtaskGraph {
  private readonly bySeq: ReadonlyMap<string, Subtask>;

  constructor(subtasks: readonly Subtask[]) {
    this.bySeq = new Map(subtasks.map((subtask) => [subtask.seq, subtask]));
  }

  get(seq: string): Subtask | undefined {
    return this.bySeq.get(seq);
  }

  dependencies(seq: string): string[] {
    return this.bySeq.get(seq)?.dependsOn.filter((one) => this.bySeq.has(one)) ?? [];
  }

  /** Whether one subtask depends on another, directly or indirectly. */
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

  /** Whether one of the two waits for the other, so that they never run at the same time. */
  areOrdered(a: string, b: string): boolean {
    return this.waitsFor(a, b) || this.waitsFor(b, a);
  }

  /** A topological order, without subtasks that are in a cycle or depend on one. */
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

  /** Disjoint dependency cycles, each as a path that ends where it began. */
  cycles(): string[][] {
    const cycles: string[][] = [];
    for (let graph: SubtaskGraph = this; ; ) {
      const free = new Set(graph.order());
      const stuck = [...graph.bySeq.values()].filter(({ seq }) => !free.has(seq));
      if (stuck.length === 0) return cycles;
      const cycle = new SubtaskGraph(stuck).cycleFrom(stuck[0]!.seq);
      cycles.push(cycle);
      graph = new SubtaskGraph(stuck.filter(({ seq }) => !cycle.includes(seq)));
    }
  }

  /** Every subtask here depends on another one here, so following dependencies must come around. */
  private cycleFrom(start: string): string[] {
    const walked: string[] = [];
    let at = start;
    while (!walked.includes(at)) {
      walked.push(at);
      at = this.dependencies(at)[0]!;
    }
    return [...walked.slice(walked.indexOf(at)), at];
  }

  /** The longest chain of dependencies, first to last: the minimum number of steps. */
  criticalPath(): Subtask[] {
    const length = new Map<string, number>();
    const from = new Map<string, string>();
    let last: string | undefined;
    for (const seq of this.order()) {
      let longest = 0;
      for (const earlier of this.dependencies(seq)) {
        if (length.get(earlier)! <= longest) continue;
        longest = length.get(earlier)!;
        from.set(seq, earlier);
      }
      length.set(seq, longest + 1);
      if (last === undefined || longest + 1 > length.get(last)!) last = seq;
    }
    const path: Subtask[] = [];
    for (let seq = last; seq !== undefined; seq = from.get(seq)) path.push(this.get(seq)!);
    return path.reverse();
  }
}

/**
 * Groups subtasks into waves that can each run at once: without dependencies or shared deliverables inside a wave, and
 * with subtasks that are not parallel alone. Subtasks in a cycle are left out.
 */
export function planWaves(subtasks: readonly Subtask[]): Subtask[][] {
  const graph = new SubtaskGraph(subtasks);
  let waiting = graph
    .order()
    .sort(compareSeqs)
    .map((seq) => graph.get(seq)!);
  const done = new Set<string>();
  const waves: Subtask[][] = [];
  while (waiting.length > 0) {
    const wave = selectConcurrent(
      waiting.filter(({ seq }) => graph.dependencies(seq).every((one) => done.has(one))),
    );
    waves.push(wave);
    for (const { seq } of wave) done.add(seq);
    waiting = waiting.filter(({ seq }) => !done.has(seq));
  }
  return waves;
}

/** As many ready subtasks as can run at the same time; if none can run beside others, the first alone. */
export function selectConcurrent(ready: readonly Subtask[]): Subtask[] {
  const chosen: Subtask[] = [];
  const index = new OverlapIndex();
  for (const subtask of ready) {
    if (!subtask.parallel || index.overlapping(subtask).length > 0) continue;
    chosen.push(subtask);
    index.add(subtask);
  }
  return chosen.length > 0 ? chosen : ready.slice(0, 1);
}
