import type { Subtask } from '../feature.ts';

/** What waits for what, by sequence; of dependencies that nobody has nothing is said. */
export class DependencyMap {
  private readonly bySeq: ReadonlyMap<string, Subtask>;

  constructor(readonly subtasks: readonly Subtask[]) {
    this.bySeq = new Map(subtasks.map((subtask) => [subtask.seq, subtask]));
  }

  get(seq: string): Subtask | undefined {
    return this.bySeq.get(seq);
  }

  before(seq: string): string[] {
    return this.bySeq.get(seq)?.dependsOn.filter((one) => this.bySeq.has(one)) ?? [];
  }

  /** Whether one waits for the other, directly or through others. */
  waitsFor(seq: string, other: string): boolean {
    const seen = new Set([seq]);
    for (const one of seen) {
      for (const earlier of this.before(one)) {
        if (earlier === other) return true;
        seen.add(earlier);
      }
    }
    return false;
  }

  /** Each behind what it depends on; what is in a circle, or behind one, is left out. */
  order(): string[] {
    const open = new Map([...this.bySeq.keys()].map((seq) => [seq, this.before(seq).length]));
    const after = new Map<string, string[]>();
    for (const seq of this.bySeq.keys()) {
      for (const earlier of this.before(seq)) after.set(earlier, [...(after.get(earlier) ?? []), seq]);
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
