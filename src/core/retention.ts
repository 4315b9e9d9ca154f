import type { Execution } from './execution.ts';
import type { ExecutionGraph } from './execution-graph.ts';

/** Keeps the executions that settled last to be found by their id, and forgets the one that settled longest ago. */
export class Retention {
  /** Numbers: to forget an execution does not touch it. */
  private readonly settled: number[] = [];
  private oldest = 0;

  constructor(
    private readonly graph: ExecutionGraph<Execution>,
    private readonly capacity: number,
  ) {}

  add({ seq }: Execution): void {
    if (this.settled.length < this.capacity) {
      this.settled.push(seq);
    } else if (this.capacity === 0) {
      this.graph.forget(seq);
    } else {
      this.graph.forget(this.settled[this.oldest]!);
      this.settled[this.oldest] = seq;
      if (++this.oldest === this.capacity) this.oldest = 0;
    }
  }
}
