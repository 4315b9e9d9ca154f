import type { FailureReason } from '../core/failure.ts';
import type { Group } from '../core/group.ts';
import type { TimeLeft } from '../core/predict.ts';
import { type ExecutionStatus, STATUS_NAMES } from '../core/status.ts';
import type { ExecutionHandle } from './handle.ts';
import type { Job } from './job.ts';
import type { Outcome } from './outcome.ts';
import type { AggregatedProgress } from './progress-log.ts';
import type { Runtime } from './runtime.ts';

/** How a group ended. */
export interface GroupOutcome {
  readonly name: string;
  /** Whether every execution completed. */
  readonly succeeded: boolean;
  readonly total: number;
  readonly counts: Readonly<Record<ExecutionStatus, number>>;
  /** From the submission of the group to the end of its last execution. */
  readonly durationMs: number;
}

/** An attempt of an execution failed, and another one will follow. */
export interface RetryNotice {
  /** The id of the execution. */
  readonly id: string;
  /** The number of the attempt that failed. */
  readonly attempt: number;
  readonly reason: FailureReason;
  /** What the function threw, if it did. */
  readonly error: unknown;
  readonly retryInMs: number;
}

/** Follows and controls the executions of one `submitAll`. */
export class GroupHandle {
  private ended: GroupOutcome | undefined;

  /** @internal */
  constructor(
    private readonly runtime: Runtime,
    private readonly group: Group,
    private readonly jobs: readonly Job[],
  ) {
    runtime.onGroupEnd(group, () => {
      this.ended = this.summary();
    });
  }

  get name(): string {
    return this.group.name;
  }

  /** The handles, in the order in which the executions were given. */
  get handles(): readonly ExecutionHandle[] {
    return this.jobs;
  }

  /** One answer for the whole group when its last execution has settled. Never throws. */
  outcome(): Promise<GroupOutcome> {
    const { ended } = this;
    if (ended !== undefined) return Promise.resolve(ended);
    return new Promise((resolve) => this.runtime.onGroupEnd(this.group, () => resolve(this.ended!)));
  }

  /** The outcome of each execution, in the order in which they were given, when all have settled. Never throws. */
  async outcomes(): Promise<Outcome[]> {
    await this.outcome();
    return this.jobs.map((job) => job.currentOutcome());
  }

  /** Tells of every attempt of the group that failed and is followed by another one. The last who asks is told. */
  onRetry(callback: (notice: RetryNotice) => void): void {
    this.runtime.retryCallbacks.set(this.group, callback);
  }

  /**
   * Tells how each execution of the group ended, soon after it did; also of those that have. The last who asks is told.
   * It costs less than a promise for each.
   */
  onSettled(callback: (outcome: Outcome) => void): void {
    this.runtime.settlements.follow(this.group, this.jobs, callback);
  }

  /** How far the group has come. */
  progress(): AggregatedProgress {
    return this.runtime.log.aggregated(this.group);
  }

  /**
   * How long the group will still take, as a range that holds in four of five cases; undefined while nothing is known
   * of the durations. See {@link TimeLeft}.
   */
  timeLeft(): TimeLeft | undefined {
    return this.runtime.timeLeft(this.group);
  }

  /** Ends everything of the group that has not settled. */
  cancel(reason?: unknown): void {
    this.runtime.change((scheduler, now) => scheduler.cancelGroup(this.group, reason, now));
  }

  /** Starts no more of the group; what runs goes on. */
  pause(): void {
    this.runtime.pause(this.group);
  }

  /** Takes back a {@link pause}. */
  resume(): void {
    this.runtime.change((scheduler) => scheduler.resume(this.group));
  }

  private summary(): GroupOutcome {
    const { counts, createdAt } = this.group;
    const total = counts.reduce((sum, count) => sum + count, 0);
    return {
      name: this.name,
      succeeded: counts[STATUS_NAMES.indexOf('completed')] === total,
      total,
      counts: Object.fromEntries(STATUS_NAMES.map((name, index) => [name, counts[index]!])) as Record<
        ExecutionStatus,
        number
      >,
      durationMs: this.runtime.clock.now() - createdAt,
    };
  }
}
