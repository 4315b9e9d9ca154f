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

/** A failed attempt that will be retried. */
export interface RetryNotice {
  /** The id of the execution. */
  readonly id: string;
  /** The number of the attempt that failed. */
  readonly attempt: number;
  readonly reason: FailureReason;
  /** The error the function threw, if any. */
  readonly error: unknown;
  readonly retryInMs: number;
  /** The quota that was used up, if that was the reason: then it does not count as an attempt. */
  readonly quota?: string;
}

/** The outcome of a group once it has ended. Shared by its handles, so that none of them is kept for it. */
export interface GroupEnd {
  outcome: GroupOutcome | undefined;
}

/** Follows and controls the executions of one `submitAll`. `T` has the types of their values, in order. */
export class GroupHandle<T extends readonly unknown[] = readonly unknown[]> {
  private readonly end: GroupEnd;

  /** @internal */
  constructor(
    private readonly runtime: Runtime,
    private readonly group: Group,
    private readonly jobs: readonly Job[],
  ) {
    this.end = runtime.endOf(group);
  }

  get name(): string {
    return this.group.name;
  }

  /** The handles, in the order in which the executions were given. */
  get handles(): { readonly [K in keyof T]: ExecutionHandle<T[K]> } {
    return this.jobs as { readonly [K in keyof T]: ExecutionHandle<T[K]> };
  }

  /** Resolves when the last execution of the group has settled. Never throws. */
  outcome(): Promise<GroupOutcome> {
    const { end } = this;
    if (end.outcome !== undefined) return Promise.resolve(end.outcome);
    return new Promise((resolve) => this.runtime.onGroupEnd(this.group, () => resolve(end.outcome!)));
  }

  /** The outcome of each execution, in the order in which they were given, when all have settled. Never throws. */
  async outcomes(): Promise<{ -readonly [K in keyof T]: Outcome<T[K]> }> {
    await this.outcome();
    return this.jobs.map((job) => job.currentOutcome()) as { -readonly [K in keyof T]: Outcome<T[K]> };
  }

  /** Calls back for every failed attempt of the group that will be retried. Replaces the previous callback. */
  onRetry(callback: (notice: RetryNotice) => void): void {
    const { runtime, group } = this;
    runtime.retryCallbacks.set(group, callback);
    // The history of allocations keeps some executions, and with them the group, but must not keep the callback.
    runtime.onGroupEnd(group, () => runtime.retryCallbacks.delete(group));
  }

  /**
   * Calls back with the outcome of each execution of the group soon after it settles, including those already settled.
   * Replaces the previous callback. Cheaper than a promise per execution.
   */
  onSettled(callback: (outcome: Outcome<T[number]>) => void): void {
    this.runtime.settlements.follow(this.group, this.jobs, callback as (outcome: Outcome) => void);
  }

  /** The progress of the group. */
  progress(): AggregatedProgress {
    return this.runtime.log.aggregated(this.group);
  }

  /**
   * Predicts how long the group will still take, as a range that holds in four of five cases; undefined while no
   * durations are known. See {@link TimeLeft}.
   */
  timeLeft(): TimeLeft | undefined {
    return this.runtime.timeLeft(this.group);
  }

  /** Cancels every execution of the group that has not settled. */
  cancel(reason?: unknown): void {
    this.runtime.change((scheduler, now) => scheduler.cancelGroup(this.group, reason, now));
  }

  /** Stops starting executions of the group. Running ones continue. */
  pause(): void {
    this.runtime.pause(this.group);
  }

  /** Undoes a {@link pause}. */
  resume(): void {
    this.runtime.change((scheduler) => scheduler.resume(this.group));
  }
}

export function groupOutcome({ name, counts, createdAt }: Group, now: number): GroupOutcome {
  const total = counts.reduce((sum, count) => sum + count, 0);
  return {
    name,
    succeeded: counts[STATUS_NAMES.indexOf('completed')] === total,
    total,
    counts: Object.fromEntries(STATUS_NAMES.map((status, index) => [status, counts[index]!])) as Record<
      ExecutionStatus,
      number
    >,
    durationMs: now - createdAt,
  };
}

/** Calls back for settled executions, with one callback for each group. */
export class Settlements {
  private readonly callbacks = new Map<Group, (outcome: Outcome) => void>();
  private settledJobs: Job[] = [];

  follow(group: Group, jobs: readonly Job[], callback: (outcome: Outcome) => void): void {
    if (jobs.length === 0) return;
    this.callbacks.set(group, callback);
    const known = new Set(this.settledJobs);
    for (const job of jobs) if (job.isSettled && !known.has(job)) this.settled(job);
  }

  /** Callbacks run in a microtask, never in the middle of a change. */
  settled(job: Job): void {
    if (this.callbacks.size === 0) return;
    if (this.settledJobs.length === 0) queueMicrotask(this.deliver);
    this.settledJobs.push(job);
  }

  private readonly deliver = (): void => {
    const jobs = this.settledJobs;
    this.settledJobs = [];
    const ended = new Set<Group>();
    let delivered = 0;
    try {
      for (const job of jobs) {
        delivered++;
        const { group } = job.demand;
        if (group.unsettled === 0) ended.add(group);
        this.callbacks.get(group)?.(job.currentOutcome());
      }
    } finally {
      // A callback that throws does not prevent the others.
      if (delivered < jobs.length) this.deliverLater(jobs.slice(delivered));
      this.forget(ended);
    }
  };

  private deliverLater(jobs: readonly Job[]): void {
    if (this.settledJobs.length === 0) queueMicrotask(this.deliver);
    this.settledJobs = [...jobs, ...this.settledJobs];
  }

  /** A callback may have submitted more to a group that had ended. */
  private forget(groups: ReadonlySet<Group>): void {
    if (groups.size === 0) return;
    const undelivered = new Set(this.settledJobs.map(({ demand }) => demand.group));
    for (const group of groups)
      if (group.unsettled === 0 && !undelivered.has(group)) this.callbacks.delete(group);
  }
}
