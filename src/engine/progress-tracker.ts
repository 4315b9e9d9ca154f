import { Catalog } from '../core/catalog.ts';
import { DEFAULT_NEEDS } from '../core/demand.ts';
import { VolleyError } from '../core/errors.ts';
import type { Ending } from '../core/execution.ts';
import { checkNumber, checkObject, show } from '../core/numbers.ts';
import { STATUS_NAMES, Status, type StatusCode } from '../core/status.ts';
import { checkReport } from './check-report.ts';
import { SystemClock } from './clock.ts';
import type { ProgressStream } from './event-log.ts';
import { Job } from './job.ts';
import { type AggregatedProgress, type ExecutionSnapshot, ProgressLog } from './progress-log.ts';
import type { ExecutionStatistics } from './statistics.ts';
import { Task } from './task.ts';
import { toFailure } from './tool-failure.ts';
import type { ProgressUpdate } from './updates.ts';

/** Options of a standalone {@link ProgressTracker}. */
export interface ProgressTrackerOptions {
  /** How many updates are remembered for slow readers. Default 4096. */
  readonly eventLogSize?: number;
  /** How many settled executions are remembered. Default 1000. */
  readonly retainSettled?: number;
}

/** The overall progress, with statistics. */
export interface TrackedProgress extends AggregatedProgress {
  readonly statistics: Omit<ExecutionStatistics, 'utilization' | 'usage'>;
}

/**
 * Updates and aggregated progress of executions. An engine has one that it writes itself; use one of your own for work
 * that no engine runs:
 *
 * ```ts
 * const tracker = new ProgressTracker();
 * tracker.start('a', 'build');
 * tracker.update('a', 0.5, 'linking');
 * tracker.complete('a');
 * ```
 */
export class ProgressTracker {
  /** Undefined for the tracker of an engine. */
  private readonly own: OwnExecutions | undefined;
  private readonly log: ProgressLog;

  constructor(options: ProgressTrackerOptions = {}, /** @internal */ log?: ProgressLog) {
    if (log !== undefined) {
      this.log = log;
      return;
    }
    checkObject('The options of a progress tracker', options);
    const { eventLogSize = 4096, retainSettled = 1000 } = options;
    checkNumber('eventLogSize', eventLogSize, { min: 16, max: 2 ** 24, integer: true });
    checkNumber('retainSettled', retainSettled, { min: 0, max: 1e9, integer: true });
    this.own = new OwnExecutions(eventLogSize, retainSettled);
    this.log = this.own.log;
  }

  /** The id of the latest update, 0 before the first. */
  get lastEventId(): number {
    return this.log.lastEventId;
  }

  /**
   * All updates from now on, or after an earlier event id. A reader that falls too far behind gets a `missed` update
   * with the number of lost ones. Ends when the engine is closed.
   */
  subscribe(options: { readonly after?: number } = {}): ProgressStream {
    return this.log.subscribe(options);
  }

  /**
   * Calls the listener with every update, in a microtask after its cause. The listener misses none, so it must be
   * quick. Returns a function that removes it.
   *
   * @internal
   */
  listen(listener: (update: ProgressUpdate) => void): () => void {
    return this.log.listen(listener);
  }

  /** The overall progress. */
  aggregated(): TrackedProgress {
    const { log } = this;
    return { ...log.aggregated(), statistics: log.statistics.summary(log.counts) };
  }

  /** Records that an execution has started. */
  start(id: string, toolName: string): void {
    this.writable().start(id, toolName);
  }

  /** Records the completed share, from 0 to 1, the current step, or both. */
  update(id: string, progress: number, step?: string): void;
  update(id: string, step: string): void;
  update(id: string, first: number | string, step?: string): void {
    this.writable().update(id, first, step);
  }

  /** Ends an execution with success. */
  complete(id: string): void {
    this.writable().settle(id, Status.completed);
  }

  /** Ends an execution with an error. */
  fail(id: string, error?: unknown): void {
    this.writable().settle(id, Status.failed, { kind: 'failed', failure: toFailure(error) });
  }

  /** Ends an execution as cancelled. */
  cancel(id: string, reason?: unknown): void {
    this.writable().settle(id, Status.cancelled, { kind: 'cancelled', reason });
  }

  /** The progress of one execution; undefined if it was never started or is forgotten. */
  snapshot(id: string): ExecutionSnapshot | undefined {
    const job = this.writable().find(id);
    return job && this.log.snapshot(job);
  }

  private writable(): OwnExecutions {
    if (this.own !== undefined) return this.own;
    throw new VolleyError(
      'INVALID_VALUE',
      'Only the engine writes to its own tracker. Use its handles for snapshots, or create your own tracker.',
    );
  }
}

/** The executions of a tracker without an engine. */
class OwnExecutions {
  readonly log: ProgressLog;
  private readonly clock = new SystemClock();
  private readonly catalog = new Catalog(1);
  private readonly counts = STATUS_NAMES.map(() => 0);
  private readonly jobs = new Map<string, Job>();
  private readonly settled: string[] = [];

  constructor(
    eventLogSize: number,
    private readonly retainSettled: number,
  ) {
    this.log = new ProgressLog(this.clock, eventLogSize, () => [this.catalog.root], this.counts);
  }

  find(id: string): Job | undefined {
    return this.jobs.get(id);
  }

  start(id: string, toolName: string): void {
    if (typeof id !== 'string' || id === '' || typeof toolName !== 'string')
      throw new VolleyError(
        'INVALID_VALUE',
        `An execution needs an id and a tool name, but got ${show(id)}.`,
      );
    const known = this.jobs.get(id);
    if (known !== undefined && !known.isSettled)
      throw new VolleyError('DUPLICATE_ID', `The execution ${show(id)} has already been started.`, { id });
    const { root } = this.catalog;
    const job = new Job<unknown>(undefined as never, () => undefined);
    job.name = id;
    job.demand = this.catalog.demandClass(this.catalog.tool(toolName), root, DEFAULT_NEEDS, []);
    job.submittedAt = job.startedAt = this.clock.now();
    job.nextAttempt();
    job.task = new Task(undefined as never, job);
    this.move(job, Status.running);
    this.jobs.set(id, job);
    this.log.statistics.started(job);
    this.log.started(job);
  }

  update(id: string, first: number | string, second: string | undefined): void {
    const { share, step } = checkReport(first, second);
    this.log.reported(this.running(id), this.clock.now(), share, step);
  }

  settle(id: string, to: StatusCode, ending?: Ending): void {
    const job = this.running(id);
    this.counts[Status.running]!--;
    this.move(job, to);
    if (ending === undefined) this.log.statistics.completed(job);
    else job.ending = ending;
    this.log.settled(job);
    job.task = undefined;
    this.settled.push(id);
    if (this.settled.length > this.retainSettled) this.forget(this.settled.shift()!);
  }

  private running(id: string): Job {
    const job = this.jobs.get(id);
    if (job !== undefined && !job.isSettled) return job;
    throw new VolleyError('UNKNOWN_EXECUTION', `No execution with the id ${show(id)} is running.`, { id });
  }

  private move(job: Job, to: StatusCode): void {
    job.state = to;
    job.since = this.clock.now();
    this.counts[to]!++;
  }

  /** Unless it was started again since. */
  private forget(id: string): void {
    if (this.jobs.get(id)?.isSettled === true && !this.settled.includes(id)) this.jobs.delete(id);
  }
}
