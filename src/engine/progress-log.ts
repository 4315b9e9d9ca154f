import type { Execution } from '../core/execution.ts';
import type { Failure } from '../core/failure.ts';
import type { Group } from '../core/group.ts';
import { checkNumber, checkObject } from '../core/numbers.ts';
import { type ExecutionStatus, isSettled, STATUS_NAMES } from '../core/status.ts';
import { reasonText } from '../core/words.ts';
import type { Clock } from './clock.ts';
import { EventRing, ExecutionCursor, LogCursor, type ProgressStream, Subscription } from './event-log.ts';
import type { Job } from './job.ts';
import { errorOf, outcomeOf } from './outcome.ts';
import { StatisticsKeeper } from './statistics.ts';
import { type ProgressUpdate, UPDATE_TYPES, type UpdateType } from './updates.ts';

/** The progress of one execution. */
export interface ExecutionSnapshot {
  readonly id: string;
  readonly toolName: string;
  readonly status: ExecutionStatus;
  /** The number of the current or last attempt, 0 before the first. */
  readonly attempt: number;
  /** The completed share, 0 to 1: as the attempt last reported, and 1 once it has completed. */
  readonly progress: number;
  /** The current step, as last reported. */
  readonly step: string | undefined;
  /** Why it did not complete. */
  readonly error: string | undefined;
  /** Times of day in milliseconds since 1970; undefined for what has not happened. */
  readonly submittedAt: number;
  readonly startedAt: number | undefined;
  readonly settledAt: number | undefined;
}

/** The progress of a set of executions. */
export interface AggregatedProgress extends Readonly<Record<ExecutionStatus, number>> {
  readonly total: number;
  /** The completed share of the work, 0 to 1: settled executions and the reported part of running ones. */
  readonly progress: number;
}

interface Report {
  readonly progress: number;
  readonly step: string | undefined;
}

const TYPE_INDEX = Object.fromEntries(UPDATE_TYPES.map((type, index) => [type, index])) as Record<
  UpdateType,
  number
>;
const MAX_TEXT = 2000;

/** Records everything that happens to executions, and serves its readers. */
export class ProgressLog {
  readonly statistics = new StatisticsKeeper();
  private readonly log: EventRing;
  /** The sum of what the running executions of a group reported. */
  private readonly partial = new WeakMap<Group, number>();
  private readonly listeners = new Set<(update: ProgressUpdate) => void>();
  /** How many of the latest updates were not delivered to listeners yet. */
  private undelivered = 0;
  private isClosed = false;

  constructor(
    private readonly clock: Clock,
    capacity: number,
    private readonly groups: () => Iterable<Group>,
    /** How many executions are in each status. */
    readonly counts: readonly number[],
  ) {
    this.log = new EventRing(capacity);
  }

  /** The id of the latest update, 0 before the first. */
  get lastEventId(): number {
    return this.log.nextId - 1;
  }

  /**
   * All updates from now on, or after an earlier event id. A reader that falls too far behind gets a `missed` update
   * with the number of lost ones. Ends when the engine is closed.
   */
  subscribe(options: { readonly after?: number } = {}): ProgressStream {
    checkObject('The options of a subscription', options);
    const { after = this.lastEventId } = options;
    const from = Math.min(checkNumber('after', after, { min: 0, integer: true }) + 1, this.log.nextId);
    return new Subscription(
      new LogCursor(
        this.log,
        from,
        (id) => this.describe(id),
        () => this.isClosed,
      ),
    );
  }

  /** Status and progress of one execution, as far as its reports are still remembered. */
  snapshot(execution: Execution): ExecutionSnapshot {
    const { id, attempt, statusName: status, demand } = execution;
    const { epoch } = this.clock;
    const isOver = isSettled(execution.state);
    let progress = 0;
    let step: string | undefined;
    for (const eventId of this.log.idsOf(execution)) {
      const update = this.describe(eventId);
      if (update.attempt !== attempt) continue;
      if (update.type === 'progress') progress = update.progress;
      if (update.type === 'progress' || update.type === 'step') step = update.step ?? step;
    }
    return {
      id,
      toolName: demand.tool.name,
      status,
      attempt,
      progress: status === 'completed' ? 1 : progress,
      step,
      error: isOver && status !== 'completed' ? errorText(errorOf(execution)) : undefined,
      submittedAt: epoch + execution.submittedAt,
      startedAt: attempt === 0 ? undefined : epoch + execution.startedAt,
      settledAt: isOver ? epoch + execution.since : undefined,
    };
  }

  listen(listener: (update: ProgressUpdate) => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  /** The progress of everything, or of one group. */
  aggregated(group?: Group): AggregatedProgress {
    const counts = group?.counts ?? this.counts;
    const total = counts.reduce((sum, count) => sum + count, 0);
    const byStatus = Object.fromEntries(STATUS_NAMES.map((name, index) => [name, counts[index]!]));
    const settled = counts.slice(4).reduce((sum, count) => sum + count, 0);
    const groups = group === undefined ? this.groups() : [group];
    let partial = 0;
    for (const one of groups) partial += this.partial.get(one) ?? 0;
    return {
      ...(byStatus as Record<ExecutionStatus, number>),
      total,
      // Sums of reported shares are not exact.
      progress:
        total === 0 ? 0 : settled === total ? 1 : Math.max(0, Math.min(1, (settled + partial) / total)),
    };
  }

  follow(job: Job): ProgressStream {
    const execution = job;
    const describeEnd = () => {
      return job.isSettled
        ? this.describeAs(execution.statusName as UpdateType, execution, this.lastEventId)
        : undefined;
    };
    const cursor = new ExecutionCursor(
      this.log,
      this.log.idsOf(execution),
      (id) => this.describe(id),
      describeEnd,
    );
    if (job.isSettled) return new Subscription(cursor);
    const extras = job.withExtras();
    extras.followers ??= new Set();
    const { followers } = extras;
    followers.add(cursor);
    return new Subscription(cursor, () => followers.delete(cursor));
  }

  started(execution: Execution): void {
    this.append(TYPE_INDEX.started, execution, execution.startedAt, undefined);
  }

  reported(execution: Execution, now: number, progress: number | undefined, step: string | undefined): void {
    const text = step?.slice(0, MAX_TEXT);
    if (progress === undefined) {
      this.append(TYPE_INDEX.step, execution, now, text);
      return;
    }
    this.addPartial(execution, progress);
    this.append(TYPE_INDEX.progress, execution, now, { progress, step: text } satisfies Report);
  }

  retrying(execution: Execution, failure: Failure, now: number, pause: RetryPause): void {
    this.addPartial(execution, 0);
    this.append(TYPE_INDEX.retrying, execution, now, { failure, pause });
  }

  abandoned(execution: Execution, now: number): void {
    this.append(TYPE_INDEX.abandoned, execution, now, undefined);
  }

  settled(execution: Execution): void {
    this.addPartial(execution, 0);
    this.append(TYPE_INDEX[execution.statusName as UpdateType], execution, execution.since, undefined);
  }

  /** Lets all readers finish. */
  close(): void {
    this.isClosed = true;
    this.log.arrivals.fire();
  }

  private append(typeIndex: number, execution: Execution, at: number, detail: unknown): void {
    this.log.append(typeIndex, execution, at, detail);
    if (this.listeners.size === 0) return;
    if (this.undelivered++ === 0) queueMicrotask(this.deliver);
    // One change may cause more updates than the log keeps.
    else if (this.undelivered === this.log.capacity) this.deliver();
  }

  private readonly deliver = (): void => {
    const { nextId } = this.log;
    const from = nextId - this.undelivered;
    this.undelivered = 0;
    for (let id = from; id < nextId; id++) {
      const update = this.describe(id);
      for (const listener of this.listeners) listener(update);
    }
  };

  private addPartial(execution: Execution, progress: number): void {
    const { task } = execution as Job;
    if (task === undefined || task.share === progress) return;
    const { group } = execution.demand;
    this.partial.set(group, (this.partial.get(group) ?? 0) + progress - task.share);
    task.share = progress;
  }

  private describe(eventId: number): ProgressUpdate {
    const { typeIndex, execution, at, attempt, detail } = this.log.read(eventId);
    return this.describeAs(UPDATE_TYPES[typeIndex]!, execution, eventId, at, attempt, detail);
  }

  private describeAs(
    type: UpdateType,
    execution: Execution,
    eventId: number,
    at = execution.since,
    attempt = execution.attempt,
    detail?: unknown,
  ): ProgressUpdate {
    const base = {
      eventId,
      executionId: execution.id,
      toolName: execution.demand.tool.name,
      group: execution.demand.group.name || undefined,
      attempt,
      at: this.clock.epoch + at,
    };
    switch (type) {
      case 'started':
        return { ...base, type, waitedMs: at - execution.submittedAt };
      case 'abandoned':
        return { ...base, type };
      case 'progress': {
        const { progress, step } = detail as Report;
        return { ...base, type, progress, step };
      }
      case 'step':
        return { ...base, type, step: detail as string };
      case 'retrying': {
        const { failure, pause } = detail as { failure: Failure; pause: RetryPause };
        return {
          ...base,
          type,
          reason: failure.reason,
          error: errorText(failure.error ?? failure.reason),
          ...pause,
        };
      }
      default: {
        const outcome = outcomeOf(execution, undefined);
        switch (outcome.status) {
          case 'completed':
            return { ...base, type: 'completed', durationMs: outcome.durationMs };
          case 'failed':
            return { ...base, type: 'failed', reason: outcome.reason, error: errorText(errorOf(execution)) };
          case 'cancelled':
            return { ...base, type: 'cancelled', reason: outcome.reason.slice(0, MAX_TEXT) };
          case 'skipped':
            return { ...base, type: 'skipped', cause: outcome.cause };
        }
      }
    }
  }
}

/** The pause before another attempt. */
export interface RetryPause {
  readonly retryInMs: number;
  /** The quota that is used up, if that is the reason. */
  readonly quota?: string;
}

/** The message alone: a stack belongs in the outcome, not in a stream. */
function errorText(error: unknown): string {
  return reasonText(error).slice(0, MAX_TEXT);
}
