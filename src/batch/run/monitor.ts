import type { FailureReason } from '../../core/failure.ts';
import type { RetryNotice } from '../../engine/group-handle.ts';
import type { TaskEnd } from '../../store/records.ts';
import type { BatchEvents, TaskEvent } from './events.ts';
import type { TaskRun } from './task-run.ts';

/** A task that runs now. */
export interface RunningTask {
  readonly id: string;
  readonly name: string;
  readonly function: string;
  readonly attempt: number;
  /** If it is an item: the id of its group. */
  readonly group?: string | undefined;
  /** Whether it is a group, which waits for its items. */
  readonly isGroup?: boolean;
  /** The wall-clock start of the attempt. */
  readonly startedAt: number;
  /** The worker that it was placed on, if any. */
  worker: string | undefined;
  /** 0 to 1, if reported. */
  progress: number | undefined;
  step: string | undefined;
}

/** A task that failed. */
export interface FailedTask {
  readonly id: string;
  readonly name: string;
  readonly function: string;
  readonly reason: FailureReason;
  readonly message: string;
  readonly attempts: number;
  readonly at: number;
}

/** A quota that is used up. */
export interface QuotaPause {
  readonly scope: string;
  /** Unix time in milliseconds. */
  readonly until: number;
}

const MAX_FAILURES = 10;

type EventBase = Omit<Extract<TaskEvent, { type: 'started' }>, 'type'>;

/** A task of this run, or one that ended before it could run. */
type EndingTask = Pick<TaskRun, 'seq' | 'id' | 'name' | 'function' | 'attempts'> &
  Partial<Pick<TaskRun, 'attemptsBefore' | 'owner'>>;

/** Tracks running tasks, recent failures and throughput of a run, and publishes its task events. */
export class RunMonitor {
  private readonly attempts = new Map<number, RunningTask>();
  /** Tasks that wait for a retry, by their sequence numbers. */
  private readonly pausing = new Set<number>();
  private readonly failures: FailedTask[] = [];
  private readonly throughput = new Throughput(performance.now());

  constructor(
    private readonly batch: string,
    private readonly events: BatchEvents,
  ) {}

  /** How many tasks have started and not ended: those that run, and those that wait for a retry. */
  get started(): number {
    return this.attempts.size + this.pausing.size;
  }

  /** Oldest first. */
  running(max: number): RunningTask[] {
    const found: RunningTask[] = [];
    for (const task of this.attempts.values()) {
      if (found.length === max) break;
      found.push({ ...task });
    }
    return found;
  }

  /** Returns the running attempt of a task, by its sequence number. */
  attemptOf(seq: number): RunningTask | undefined {
    return this.attempts.get(seq);
  }

  /** Newest first. */
  lastFailures(): FailedTask[] {
    return [...this.failures].reverse();
  }

  ratePerSecond(): number | undefined {
    return this.throughput.perSecond(performance.now());
  }

  began(run: TaskRun, attempt: number): RunningTask {
    const { seq, id, name, function: tool, owner, group } = run;
    const task: RunningTask = {
      id,
      name,
      function: tool,
      attempt,
      group: owner?.id,
      isGroup: group !== undefined,
      startedAt: Date.now(),
      worker: undefined,
      progress: undefined,
      step: undefined,
    };
    this.attempts.set(seq, task);
    this.pausing.delete(seq);
    if (this.events.hasListeners)
      this.events.publish({ ...this.eventOf(run), type: 'started', at: task.startedAt });
    return task;
  }

  placed(run: TaskRun, attempt: RunningTask, worker: string): void {
    attempt.worker = worker;
    if (this.events.hasListeners) this.events.publish({ ...this.eventOf(run), type: 'placed', worker });
  }

  attemptOver({ seq }: TaskRun, attempt: RunningTask): void {
    // Another attempt may have started if this one ignored its stop signal.
    if (this.attempts.get(seq) === attempt) this.attempts.delete(seq);
  }

  reported(run: TaskRun, attempt: RunningTask): void {
    // An attempt that ignores its signal may report after its end.
    if (this.attempts.get(run.seq) !== attempt) return;
    const { progress, step } = attempt;
    if (this.events.hasListeners)
      this.events.publish({ ...this.eventOf(run), type: 'progress', progress, step });
  }

  retrying(run: TaskRun, { reason, retryInMs, quota }: RetryNotice): void {
    this.attempts.delete(run.seq);
    // One that waits for a quota is open again.
    if (quota === undefined) this.pausing.add(run.seq);
    if (!this.events.hasListeners) return;
    const event = { ...this.eventOf(run), type: 'retrying', reason, retryInMs } as const;
    this.events.publish(quota === undefined ? event : { ...event, quota });
  }

  /** Called when the result of a task is stored. */
  completed(task: TaskRun, durationMs: number, isCached: boolean): void {
    if (!this.events.hasListeners) return;
    const event = { ...this.eventOf(task), type: 'completed', durationMs } as const;
    this.events.publish(isCached ? { ...event, cached: true } : event);
  }

  /** Called when the end of a task is stored, or when it is open again. */
  ended(task: EndingTask, end: TaskEnd | 'completed' | 'opened'): void {
    this.attempts.delete(task.seq);
    this.pausing.delete(task.seq);
    if (end !== 'opened') this.throughput.add(performance.now());
    // Published when its result was stored.
    if (end === 'completed') return;
    const event = this.eventOf(task);
    if (end === 'opened') this.events.publish({ ...event, type: 'opened' });
    else if (end.status === 'skipped')
      this.events.publish({ ...event, type: 'skipped', cause: end.cause, code: end.code });
    else if (end.status === 'failed') this.failed(event, end);
    else if (end.status === 'cancelled') this.events.publish({ ...event, type: 'cancelled' });
  }

  private failed(event: EventBase, { reason, message }: Extract<TaskEnd, { status: 'failed' }>): void {
    const { id, name, function: tool, attempt: attempts, at } = event;
    this.failures.push({ id, name, function: tool, reason, message, attempts, at });
    if (this.failures.length > MAX_FAILURES) this.failures.shift();
    this.events.publish({ ...event, type: 'failed', reason, message });
  }

  private eventOf(task: EndingTask): EventBase {
    const { seq, id, name, function: tool, attempts, attemptsBefore = 0, owner } = task;
    const event = { batch: this.batch, seq, id, name, function: tool, attempt: attemptsBefore + attempts };
    return { ...event, group: owner?.id, at: Date.now() };
  }
}

const WINDOW_S = 10;

/** Tasks that end per second, over the last ten seconds. Takes monotonic times. */
class Throughput {
  private readonly counts = new Array<number>(WINDOW_S).fill(0);
  /** The second to which the newest count belongs. */
  private newest: number;

  constructor(private readonly startedAt: number) {
    this.newest = Math.floor(startedAt / 1000);
  }

  add(now: number): void {
    this.moveTo(now);
    this.counts[this.newest % WINDOW_S]!++;
  }

  /** Undefined until a task has ended. */
  perSecond(now: number): number | undefined {
    this.moveTo(now);
    const ended = this.counts.reduce((sum, count) => sum + count, 0);
    const span = Math.min(now - this.startedAt, (WINDOW_S - 1) * 1000 + (now % 1000));
    return ended === 0 ? undefined : (ended * 1000) / Math.max(1, span);
  }

  private moveTo(now: number): void {
    const second = Math.floor(now / 1000);
    const steps = Math.min(WINDOW_S, second - this.newest);
    for (let step = 0; step < steps; step++) this.counts[(second - step) % WINDOW_S] = 0;
    this.newest = second;
  }
}
