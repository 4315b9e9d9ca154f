import type { FailureReason } from '../../core/failure.ts';
import type { TaskEnd } from '../../store/records.ts';
import type { BatchEvents, TaskEvent } from '../events.ts';
import type { TaskRun } from './task-run.ts';
import { Throughput } from './throughput.ts';

/** A task that runs now. */
export interface RunningTask {
  readonly id: string;
  readonly name: string;
  readonly function: string;
  readonly attempt: number;
  /** The time of day at which the attempt began. */
  readonly startedAt: number;
  /** 0 to 1, if it reports it. */
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

/** A task that completed. */
export interface CompletedTask {
  readonly id: string;
  readonly name: string;
  readonly function: string;
  readonly durationMs: number;
}

/** Is told of ends as they come. */
export interface BatchListener {
  /** A task failed, and is not tried again. */
  failed?(task: FailedTask, batch: string): void;
  /** A task completed; its result is safe. */
  completed?(task: CompletedTask, batch: string): void;
}

const MAX_FAILURES = 10;

type EventBase = Omit<Extract<TaskEvent, { type: 'started' }>, 'type'>;

/** What is told of a task: of one that ran here, or of one that never did. */
type EndingTask = Pick<TaskRun, 'seq' | 'id' | 'function' | 'attempts'> & {
  readonly attemptsBefore?: number;
};

/** What is worth looking at while a batch runs. */
export class RunMonitor {
  private readonly attempts = new Map<number, RunningTask>();
  private readonly failures: FailedTask[] = [];
  private readonly throughput = new Throughput(performance.now());

  constructor(
    private readonly batch: string,
    private readonly listeners: ReadonlySet<BatchListener>,
    private readonly events: BatchEvents,
  ) {}

  /** The oldest first. */
  running(most: number): RunningTask[] {
    const found: RunningTask[] = [];
    for (const task of this.attempts.values()) {
      if (found.length === most) break;
      found.push({ ...task });
    }
    return found;
  }

  /** The attempt that a task runs now, by its number. */
  attemptOf(seq: number): RunningTask | undefined {
    return this.attempts.get(seq);
  }

  /** The newest first. */
  lastFailures(): FailedTask[] {
    return [...this.failures].reverse();
  }

  ratePerSecond(): number | undefined {
    return this.throughput.perSecond(performance.now());
  }

  began(run: TaskRun, attempt: number): RunningTask {
    const { seq, id, name, function: tool } = run;
    const task: RunningTask = {
      id,
      name,
      function: tool,
      attempt,
      startedAt: Date.now(),
      progress: undefined,
      step: undefined,
    };
    this.attempts.set(seq, task);
    if (this.events.isHeard) this.events.tell({ ...this.eventOf(run), type: 'started', at: task.startedAt });
    return task;
  }

  attemptOver({ seq }: TaskRun, attempt: RunningTask): void {
    // Another attempt may have begun, where this one did not stop when it was told to.
    if (this.attempts.get(seq) === attempt) this.attempts.delete(seq);
  }

  reported(run: TaskRun, { progress, step }: RunningTask): void {
    if (this.events.isHeard) this.events.tell({ ...this.eventOf(run), type: 'progress', progress, step });
  }

  retrying(run: TaskRun, reason: FailureReason, retryInMs: number): void {
    if (this.events.isHeard) this.events.tell({ ...this.eventOf(run), type: 'retrying', reason, retryInMs });
  }

  /** How a task ended is safe in the store; or that it stays for a later run. */
  tellEnd(task: EndingTask, end: TaskEnd | 'completed' | 'opened'): void {
    if (!this.events.isHeard) return;
    const event = this.eventOf(task);
    if (typeof end === 'string') this.events.tell({ ...event, type: end });
    else if (end.status === 'failed') this.events.tell({ ...event, type: 'failed', reason: end.reason });
    else if (end.status === 'skipped') this.events.tell({ ...event, type: 'skipped', cause: end.cause });
    else this.events.tell({ ...event, type: end.status });
  }

  ended(): void {
    this.throughput.add(performance.now());
  }

  completed({ id, name, function: tool }: TaskRun, durationMs: number): void {
    for (const listener of this.listeners)
      listener.completed?.({ id, name, function: tool, durationMs }, this.batch);
  }

  failed(failure: FailedTask): void {
    this.failures.push(failure);
    if (this.failures.length > MAX_FAILURES) this.failures.shift();
    for (const listener of this.listeners) listener.failed?.(failure, this.batch);
  }

  private eventOf({ seq, id, function: tool, attempts, attemptsBefore = 0 }: EndingTask): EventBase {
    const { batch } = this;
    return { batch, seq, id, function: tool, attempt: attemptsBefore + attempts, at: Date.now() };
  }
}
