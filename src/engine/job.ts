import { Execution, RareFields } from '../core/execution.ts';
import type { Failure } from '../core/failure.ts';
import type { Group } from '../core/group.ts';
import { type ExecutionStatus, isSettled } from '../core/status.ts';
import type { ExecutionCursor, ProgressStream } from './event-log.ts';
import type { CancelResult, ExecutionHandle } from './handle.ts';
import { errorOf, type Outcome, outcomeOf } from './outcome.ts';
import type { ExecutionSnapshot } from './progress-log.ts';
import type { Task, ToolFunction } from './task.ts';

/** The parts of the engine that a job uses. */
export interface JobOwner {
  cancel(job: Job, reason: unknown): CancelResult;
  follow(job: Job): ProgressStream;
  snapshot(job: Job): ExecutionSnapshot;
}

/** Rarely used fields. */
class JobExtras extends RareFields {
  /** The attempt that submitted it. */
  parent: Task | undefined = undefined;
  /** Removes the listener on the caller's signal. */
  unlink: (() => void) | undefined = undefined;
  /** Why the previous attempt failed. */
  lastFailure: Failure | undefined = undefined;
  settledCallbacks: (() => void)[] | undefined = undefined;
  /** Whether its failure does not end a fail-fast group. */
  isOptional = false;
  /** Readers of its progress. */
  followers: Set<ExecutionCursor> | undefined = undefined;

  follow(eventId: number): void {
    if (this.followers !== undefined) for (const follower of this.followers) follower.arrived(eventId);
  }

  settled(): void {
    // Otherwise a function that submits its successor as a child would keep all its predecessors alive.
    this.parent = undefined;
    this.unlink?.();
    this.followers?.clear();
    const callbacks = this.settledCallbacks;
    this.settledCallbacks = undefined;
    for (const callback of callbacks ?? []) callback();
  }
}

type Resolve<T> = (value: T | Promise<never>) => void;

let lastResolve: ((value: never) => void) | undefined;

/** One function for all promises: a closure for each would be as large as the promise. */
const captureResolve = (resolve: (value: never) => void): void => {
  lastResolve = resolve;
};

/**
 * An execution with its function, which is also the handle that callers hold. Millions may wait at once, so it is one
 * object and creates nothing in advance: no promise before a caller waits, and no rarely used fields.
 */
export class Job<T = unknown> extends Execution implements ExecutionHandle<T> {
  /** The current attempt. */
  task: Task | undefined = undefined;
  private waiting: Promise<T> | undefined = undefined;
  /** Resolves `waiting` until the job has settled, then its value: never both, so one field serves for both. */
  private end: Resolve<T> | T | undefined = undefined;

  constructor(
    private readonly owner: JobOwner,
    readonly run: ToolFunction<T>,
  ) {
    super();
  }

  override isOwnedWithin(group: Group): boolean {
    const { extras } = this;
    return extras !== undefined && (extras.isOptional || extras.parent?.job.demand.group === group);
  }

  get extras(): JobExtras | undefined {
    return this.rare as JobExtras | undefined;
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

  snapshot(): ExecutionSnapshot {
    return this.owner.snapshot(this as Job);
  }

  belongsTo(owner: JobOwner): boolean {
    return this.owner === owner;
  }

  currentOutcome(): Outcome<T> {
    return outcomeOf(this, (this.isSettled ? this.end : undefined) as T);
  }

  /** The reason with which the signal of a stopped attempt is aborted. */
  stopReason(): unknown {
    const { ending } = this;
    return ending === undefined
      ? new DOMException('The attempt took too long', 'TimeoutError')
      : errorOf(this);
  }

  withExtras(): JobExtras {
    return this.withRare() as JobExtras;
  }

  onSettled(callback: () => void): void {
    const extras = this.withExtras();
    if (extras.settledCallbacks === undefined) extras.settledCallbacks = [callback];
    else extras.settledCallbacks.push(callback);
  }

  /** Resolves all promises. No caller code runs before the current scheduler turn is over. */
  announce(): void {
    const resolve = this.end as Resolve<T> | undefined;
    this.end = this.task?.value as T | undefined;
    this.task = undefined;
    resolve?.(this.result());
    this.extras?.settled();
  }

  /** What `console.log` shows. */
  [Symbol.for('nodejs.util.inspect.custom')](): object {
    return { id: this.id, toolName: this.toolName, status: this.status };
  }

  private promise(): Promise<T> {
    const promise = new Promise<T>(captureResolve);
    this.end = lastResolve as Resolve<T>;
    lastResolve = undefined;
    return promise;
  }

  protected override makeRare(): JobExtras {
    return new JobExtras();
  }

  private result(): T | Promise<never> {
    return this.ending === undefined ? (this.end as T) : Promise.reject(errorOf(this));
  }
}
