import type { FailureReason } from '../../core/failure.ts';
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

const MOST_FAILURES = 10;

/** What is worth looking at while a batch runs. */
export class RunMonitor {
  private readonly attempts = new Map<number, RunningTask>();
  private readonly failures: FailedTask[] = [];
  private readonly throughput = new Throughput(performance.now());

  constructor(
    private readonly batch: string,
    private readonly listeners: ReadonlySet<BatchListener>,
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

  /** The newest first. */
  lastFailures(): FailedTask[] {
    return [...this.failures].reverse();
  }

  ratePerSecond(): number | undefined {
    return this.throughput.perSecond(performance.now());
  }

  began({ seq, id, name, function: tool }: TaskRun, attempt: number): RunningTask {
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
    return task;
  }

  attemptOver({ seq }: TaskRun, attempt: RunningTask): void {
    // Another attempt may have begun, where this one did not stop when it was told to.
    if (this.attempts.get(seq) === attempt) this.attempts.delete(seq);
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
    if (this.failures.length > MOST_FAILURES) this.failures.shift();
    for (const listener of this.listeners) listener.failed?.(failure, this.batch);
  }
}
