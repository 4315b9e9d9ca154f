import type { Execution } from './execution.ts';
import type { DependencyGraph } from './graph.ts';

/** Keeps the executions that settled last to be found by their id, and forgets the one that settled longest ago. */
export class Retention {
  private readonly settled: Execution[] = [];
  private oldest = 0;

  constructor(
    private readonly graph: DependencyGraph<Execution>,
    private readonly capacity: number,
  ) {}

  add(execution: Execution): void {
    if (this.settled.length < this.capacity) {
      this.settled.push(execution);
    } else if (this.capacity === 0) {
      this.graph.forget(execution);
    } else {
      this.graph.forget(this.settled[this.oldest]!);
      this.settled[this.oldest] = execution;
      if (++this.oldest === this.capacity) this.oldest = 0;
    }
  }
}
