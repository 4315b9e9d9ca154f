import type { DemandClass } from './demand-class.ts';
import type { Execution } from './execution.ts';
import type { RateLimit } from './rate.ts';
import { STATUS_NAMES } from './status.ts';
import type { Timed } from './timers.ts';

/** Executions that share a concurrency, a rate, a time limit, a failure policy and an end. */
export class Group implements Timed {
  readonly kind = 'group';
  timerIndex = -1;
  maxConcurrency = Number.POSITIVE_INFINITY;
  rate: RateLimit | undefined;
  failFast = false;
  isPaused = false;
  running = 0;
  unsettled = 0;
  /** How long the last attempts of its settled executions ran, all together. */
  workMs = 0;
  /** How many executions of the group are in each status, in the order of STATUS_NAMES, since it was last empty. */
  readonly counts: number[] = STATUS_NAMES.map(() => 0);
  /** The unsettled executions as a linked list, so that one leaves in O(1). */
  first: Execution | undefined;
  readonly classes: DemandClass[] = [];
  readonly waiters: DemandClass[] = [];
  /** Whether limits were set for it: such a group is kept while it is empty. */
  isPinned = false;

  constructor(
    readonly name: string,
    /** When it got the first of them. */
    public createdAt: number,
  ) {}

  add(execution: Execution): void {
    if (this.unsettled === 0 && this.isPinned) {
      this.counts.fill(0);
      this.createdAt = execution.submittedAt;
    }
    const first = this.first;
    execution.nextInGroup = first;
    execution.previousInGroup = undefined;
    if (first !== undefined) first.previousInGroup = execution;
    this.first = execution;
    this.unsettled++;
  }

  remove(execution: Execution): void {
    const { nextInGroup: next, previousInGroup: previous } = execution;
    if (previous === undefined) this.first = next;
    else previous.nextInGroup = next;
    if (next !== undefined) next.previousInGroup = previous;
    execution.nextInGroup = execution.previousInGroup = undefined;
    this.unsettled--;
    if (execution.attempt > 0) this.workMs += execution.since - execution.startedAt;
  }
}
