import type { ExecutionStatus } from '../core/status.ts';
import type { CancelResult, ExecutionHandle } from './handle.ts';
import type { Job } from './job.ts';
import type { Outcome } from './outcome.ts';
import type { ExecutionSnapshot } from './progress-log.ts';
import type { ProgressStream } from './subscription.ts';
import type { Task } from './task.ts';

/**
 * The handle that a function gets of its child: while it waits through it, its own room is lent. Whoever else waits
 * for the child has a handle of its own, for the room of the parent is not his to lend.
 */
export class ChildHandle<T = unknown> implements ExecutionHandle<T> {
  constructor(
    private readonly parent: Task,
    readonly job: Job<T>,
  ) {}

  get id(): string {
    return this.job.id;
  }

  get toolName(): string {
    return this.job.toolName;
  }

  get status(): ExecutionStatus {
    return this.job.status;
  }

  wait(): Promise<T> {
    return this.lending(this.job.wait());
  }

  outcome(): Promise<Outcome<T>> {
    return this.lending(this.job.outcome());
  }

  cancel(reason?: unknown): CancelResult {
    return this.job.cancel(reason);
  }

  progress(): ProgressStream {
    return this.job.progress();
  }

  snapshot(): ExecutionSnapshot {
    return this.job.snapshot();
  }

  /** What a person sees who prints a handle. */
  [Symbol.for('nodejs.util.inspect.custom')](): object {
    return this.job;
  }

  private lending<R>(promise: Promise<R>): Promise<R> {
    return this.job.isSettled ? promise : this.parent.lendWhile(promise);
  }
}
