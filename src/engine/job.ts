import { Execution } from '../core/execution.ts';
import type { Failure } from '../core/failure.ts';
import type { Group } from '../core/group.ts';
import { type ExecutionStatus, isSettled } from '../core/status.ts';
import type { CancelResult, ExecutionHandle } from './handle.ts';
import { errorOf, type Outcome, outcomeOf } from './outcome.ts';
import type { ExecutionCursor, ProgressStream } from './subscription.ts';
import type { Task, ToolFunction } from './task.ts';

/** What a job needs of the engine it belongs to. */
export interface JobOwner {
  cancel(job: Job, reason: unknown): CancelResult;
  follow(job: Job): ProgressStream;
}

/** What few jobs have. */
class JobExtras {
  /** The attempt that submitted it. */
  parent: Task | undefined;
  /** Takes away the listener on the caller's own signal. */
  unlink: (() => void) | undefined;
  /** Why the attempt before this one failed. */
  lastFailure: Failure | undefined;
  readonly settledCallbacks: (() => void)[] = [];
  /** Who reads its progress; made for the first. */
  followers: Set<ExecutionCursor> | undefined;

  follow(eventId: number): void {
    if (this.followers !== undefined) for (const follower of this.followers) follower.arrived(eventId);
  }
}

let lastResolve: ((value: never) => void) | undefined;

/** One function for all promises: a closure for each would be as large as the promise. */
const captureResolve = (resolve: (value: never) => void): void => {
  lastResolve = resolve;
};

/**
 * An execution with its work, which is also the handle that callers hold. Many may wait at once, so it is one object
 * and makes nothing in advance: no promise before somebody waits, nothing that only few executions need.
 */
export class Job<T = unknown> extends Execution implements ExecutionHandle<T> {
  /** The current attempt. */
  task: Task | undefined = undefined;
  value: T | undefined = undefined;
  extras: JobExtras | undefined = undefined;
  private waiting: Promise<T> | undefined = undefined;
  private endWaiting: ((value: T | Promise<never>) => void) | undefined = undefined;

  constructor(
    private readonly owner: JobOwner,
    readonly run: ToolFunction<T>,
  ) {
    super();
  }

  override isOwnedWithin(group: Group): boolean {
    return this.extras?.parent?.job.demand.group === group;
  }

  get toolName(): string {
    return this.demand.tool.name;
  }

  get status(): ExecutionStatus {
    return this.statusName;
  }

  get isSettled(): boolean {
    return isSettled(this.state);
  }

  wait(): Promise<T> {
    this.waiting ??= this.isSettled ? Promise.resolve(this.result()) : this.promise();
    return this.waiting;
  }

  outcome(): Promise<Outcome<T>> {
    if (this.isSettled) return Promise.resolve(this.currentOutcome());
    return new Promise((resolve) => this.onSettled(() => resolve(this.currentOutcome())));
  }

  cancel(reason?: unknown): CancelResult {
    return this.owner.cancel(this as Job, reason);
  }

  progress(): ProgressStream {
    return this.owner.follow(this as Job);
  }

  belongsTo(owner: JobOwner): boolean {
    return this.owner === owner;
  }

  currentOutcome(): Outcome<T> {
    return outcomeOf(this, this.value as T);
  }

  /** What the signal of a stopped attempt is aborted with. */
  stopReason(): unknown {
    const { ending } = this;
    return ending === undefined
      ? new DOMException('The attempt took too long', 'TimeoutError')
      : errorOf(this);
  }

  withExtras(): JobExtras {
    this.extras ??= new JobExtras();
    return this.extras;
  }

  onSettled(callback: () => void): void {
    this.withExtras().settledCallbacks.push(callback);
  }

  /** Tells everybody who waits. Nothing of the callers' runs before the current turn of the scheduler is over. */
  announce(): void {
    this.task = undefined;
    this.endWaiting?.(this.result());
    this.endWaiting = undefined;
    if (this.extras === undefined) return;
    this.extras.unlink?.();
    this.extras.followers?.clear();
    for (const callback of this.extras.settledCallbacks.splice(0)) callback();
  }

  /** What a person sees who prints a handle. */
  [Symbol.for('nodejs.util.inspect.custom')](): object {
    return { id: this.id, toolName: this.toolName, status: this.status };
  }

  private promise(): Promise<T> {
    const promise = new Promise<T>(captureResolve);
    this.endWaiting = lastResolve as (value: T | Promise<never>) => void;
    lastResolve = undefined;
    return promise;
  }

  private result(): T | Promise<never> {
    return this.ending === undefined ? (this.value as T) : Promise.reject(errorOf(this));
  }
}
