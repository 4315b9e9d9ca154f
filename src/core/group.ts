import { ClassQueue, type DemandClass } from './demand-class.ts';
import type { Execution } from './execution.ts';
import type { RateLimit } from './rate.ts';
import { isSettled, STATUS_NAMES } from './status.ts';
import type { Timed } from './timers.ts';

/** Settled executions kept in a group's list before it is compacted. */
const MAX_SETTLED = 64;
/** Paths of a larger group are not computed again while it runs. */
const MAX_RENEWED = 10_000;
/** Paths are computed again when one in so many of the group's executions has settled since. */
const RENEWAL_SHARE = 32;

/** Executions that share a concurrency limit, a rate, a time limit, a failure policy and an end. */
export class Group implements Timed {
  readonly kind = 'group';
  timerIndex = -1;
  maxConcurrency = Number.POSITIVE_INFINITY;
  rate: RateLimit | undefined;
  failFast = false;
  isPaused = false;
  running = 0;
  unsettled = 0;
  /** The total duration of the last attempts of its settled executions. */
  workMs = 0;
  /** The number of executions per status, in the order of STATUS_NAMES, since the group was last empty. */
  readonly counts: number[] = STATUS_NAMES.map(() => 0);
  /** In order of submission. Settled ones are removed in bulk, once they are the larger half. */
  private readonly members: Execution[] = [];
  readonly classes: DemandClass[] = [];
  readonly waiters = new ClassQueue(true);
  /** What was known of durations when the paths of its executions were computed, and how many were unsettled then. */
  pathsVersion = -1;
  pathsOf = 0;
  /** Whether limits were set for it: such a group is kept while empty. */
  isPinned = false;

  constructor(
    readonly name: string,
    /** When its first execution was submitted. */
    public createdAt: number,
  ) {}

  add(execution: Execution): void {
    if (this.unsettled === 0 && this.isPinned) {
      this.counts.fill(0);
      this.createdAt = execution.submittedAt;
    }
    const { members } = this;
    // Not `push`: V8 inlines this but calls `push`.
    members[members.length] = execution;
    this.unsettled++;
  }

  /** Counts one execution as settled. */
  remove(execution: Execution): void {
    this.unsettled--;
    if (execution.attempt > 0) this.workMs += execution.since - execution.startedAt;
    const { length } = this.members;
    if (length > MAX_SETTLED && length > 2 * this.unsettled) this.forgetSettled();
  }

  private forgetSettled(): void {
    const { members } = this;
    let kept = 0;
    for (let index = 0; index < members.length; index++) {
      const member = members[index]!;
      if (!isSettled(member.state)) members[kept++] = member;
    }
    members.length = kept;
  }

  /**
   * Whether its paths should be computed again: durations changed, and enough has settled since the last time that the
   * cost is small for each.
   */
  hasOutdatedPaths(version: number): boolean {
    if (this.pathsVersion === version || this.unsettled > MAX_RENEWED || this.unsettled < 2) return false;
    if (this.unsettled <= this.pathsOf && (this.pathsOf - this.unsettled) * RENEWAL_SHARE < this.unsettled)
      return false;
    return true;
  }

  /** Whether the order of its executions can depend on what their tools take. */
  get hasSeveralTools(): boolean {
    const { classes } = this;
    return classes.some(({ tool, estimated }) => tool !== classes[0]!.tool || estimated > 0);
  }

  /** The unsettled executions, oldest first. */
  unsettledMembers(): Execution[] {
    return this.members.filter(({ state }) => !isSettled(state));
  }

  /** The most recently submitted unsettled execution. */
  newest(): Execution | undefined {
    const { members } = this;
    while (members.length > 0 && isSettled(members[members.length - 1]!.state)) members.pop();
    return members[members.length - 1];
  }
}
