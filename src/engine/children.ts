import { VolleyError } from '../core/errors.ts';
import type { ExecutionStatus } from '../core/status.ts';
import type { ProgressStream } from './event-log.ts';
import type { CancelResult, ExecutionHandle } from './handle.ts';
import type { Job } from './job.ts';
import type { Outcome } from './outcome.ts';
import type { ExecutionSnapshot } from './progress-log.ts';
import type { Task } from './task.ts';

/**
 * The handle a function gets for its child: while it waits through this handle, its resources are lent. Any other
 * waiter uses the child's own handle, which lends nothing.
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

  /** What `console.log` shows. */
  [Symbol.for('nodejs.util.inspect.custom')](): object {
    return this.job;
  }

  private lending<R>(promise: Promise<R>): Promise<R> {
    return this.job.isSettled ? promise : this.parent.lendWhile(promise);
  }
}

/** How many executions are inspected when looking for a deadlock. */
const MAX_INSPECTED = 10_000;

/**
 * Throws if a child would depend, directly or through others, on the function that submits it or on one that waits for
 * that function: each would wait for the other.
 */
export function checkNesting(parent: Task, dependsOn: unknown, find: (id: string) => Job | undefined): void {
  if (!Array.isArray(dependsOn) || dependsOn.length === 0) return;
  const ancestors = new Set<Job>();
  for (let task: Task | undefined = parent; task !== undefined; task = task.parent)
    if (!task.job.isSettled) ancestors.add(task.job);
  const seen = new Set<Job>();
  const open: Job[] = [];
  const visit = (job: Job | undefined) => {
    if (job === undefined || job.isSettled || seen.has(job)) return;
    if (ancestors.has(job)) throw deadlock(job);
    seen.add(job);
    open.push(job);
  };
  for (const reference of dependsOn) {
    if (typeof reference === 'string') visit(find(reference));
    else visit((reference instanceof ChildHandle ? reference.job : reference) as Job | undefined);
  }
  while (open.length > 0 && seen.size < MAX_INSPECTED)
    for (const dependency of open.pop()!.dependencies ?? []) visit(dependency);
}

function deadlock({ id }: Job): VolleyError {
  return new VolleyError(
    'INVALID_VALUE',
    `A child of ${id} cannot depend on it: each would wait for the other.`,
    { id },
  );
}
