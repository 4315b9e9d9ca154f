import { RelatedCancellation } from '../core/failure.ts';
import type { AttemptUsage } from '../core/usage.ts';
import { checkReport } from './check-report.ts';
import type { ExecutionContext } from './context.ts';
import type { ExecutionHandle } from './handle.ts';
import type { Job } from './job.ts';
import type { Outcome } from './outcome.ts';

/** The function of an execution. A retry calls it again. */
export type ToolFunction<T = unknown> = (task: TaskContext) => T | PromiseLike<T>;

/** Submits a function: `submit(run, options)`, or `submit(options, run)`. */
export interface Submit {
  <T>(run: ToolFunction<T>, options?: ExecutionContext): ExecutionHandle<T>;
  <T>(context: ExecutionContext, run: ToolFunction<T>): ExecutionHandle<T>;
}

/** The argument of a running function; all of it can be destructured. */
export interface TaskContext {
  /** The id of the execution. */
  readonly id: string;
  /** The number of the attempt, from 1. */
  readonly attempt: number;
  /** Aborted when the attempt must stop: it was cancelled, or a time limit expired. */
  readonly signal: AbortSignal;
  /**
   * Calls back when the attempt must stop, at once if it was already stopped. Cheaper than a listener on the signal.
   */
  readonly onStop: (callback: (reason: unknown) => void) => void;
  /** Reports the completed share, from 0 to 1, the current step, or both. Also a sign of life against stalling. */
  readonly report: Report;
  /** Declares that the work begins only now: time limits count from here. For functions that waited for a worker. */
  readonly began: () => void;
  /**
   * Declares that the work is done and its result is being saved. From here on, only the function itself ends the
   * attempt, by returning or throwing: neither a cancellation nor a time limit does. If it throws after one of these,
   * it is not retried. With `releases`, it gives back its resources and its place in the concurrency of its tool and
   * group, so that others start while it saves. A call keeps them if it has locks or conflicts, or if others depend on it.
   */
  readonly keeping: (options?: { readonly releases?: boolean }) => void;
  /**
   * Reports what the attempt really used. Executions of the same tool that have `learnUsage` and claim no cpu or memory
   * then need as much as most attempts used.
   */
  readonly used: (usage: AttemptUsage) => void;
  /** How much memory it holds instead of what was requested, because an earlier attempt ran out of memory. */
  readonly grantedMemoryMb: number | undefined;
  /** The worker on which it is placed, if there are workers. */
  readonly worker: string | undefined;
  /** The quota that it counts against: one of its own that is not used up. */
  readonly quota: string;
  /** How the dependencies ended, by id. */
  readonly outcomes: ReadonlyMap<string, Outcome>;
  /**
   * Submits a child. While this function waits for it through the handle's `wait()` or `outcome()`, its own resources
   * and locks are lent, so that nesting cannot deadlock; they are taken back before the last such wait returns.
   * Unsettled children are cancelled if this attempt fails or is stopped.
   */
  readonly submit: Submit;
  /**
   * Waits for a promise while the resources and locks of this attempt are lent, as it does for a child. For work that
   * others submitted to the engine on its behalf.
   */
  readonly lendWhile: <T>(promise: Promise<T>) => Promise<T>;
}

/** See {@link TaskContext.report}. */
export interface Report {
  (progress: number, step?: string): void;
  (step: string): void;
}

/** The parts of the engine that an attempt uses. */
export interface TaskOwner {
  report(task: Task, progress: number | undefined, step: string | undefined): void;
  began(task: Task): void;
  used(task: Task, usage: AttemptUsage): void;
  keep(task: Task, releases: boolean): void;
  submitChild<T>(parent: Task, context: ExecutionContext, run: ToolFunction<T>): ExecutionHandle<T>;
  cancelChildren(children: readonly Job[], reason: RelatedCancellation): void;
  lend(task: Task): void;
  reclaim(task: Task): void;
}

/** Rarely used fields. */
class TaskExtras {
  controller: AbortController | undefined = undefined;
  stopped: { readonly reason: unknown } | undefined = undefined;
  stopCallbacks: ((reason: unknown) => void)[] | undefined = undefined;
  children: Set<Job> | undefined = undefined;
  known: Map<string, Outcome> | undefined = undefined;
  /** The outcomes of a stopped attempt, whose execution may have forgotten them. */
  dependencies: readonly Job[] | undefined = undefined;
  openWaits = 0;
  resume: (() => void) | undefined = undefined;
}

/** One attempt of an execution. Its parts are created on demand. */
export class Task implements TaskContext {
  readonly attempt: number;
  /** The last reported progress, 0 to 1. */
  share = 0;
  /** The function's return value. */
  value: unknown = undefined;
  private extras: TaskExtras | undefined = undefined;

  constructor(
    private readonly owner: TaskOwner,
    readonly job: Job,
  ) {
    this.attempt = job.attempt;
  }

  get id(): string {
    return this.job.id;
  }

  get worker(): string | undefined {
    return this.job.worker;
  }

  get quota(): string {
    return this.job.quota;
  }

  /** The attempt of another execution that submitted this one, if any. */
  get parent(): Task | undefined {
    return this.job.extras?.parent;
  }

  /** Whether it is the current attempt and not stopped. */
  get isCurrent(): boolean {
    return this.extras?.stopped === undefined && this.job.task === this;
  }

  get signal(): AbortSignal {
    const extras = this.withExtras();
    if (extras.controller === undefined) {
      extras.controller = new AbortController();
      if (extras.stopped !== undefined) extras.controller.abort(extras.stopped.reason);
    }
    return extras.controller.signal;
  }

  get onStop(): TaskContext['onStop'] {
    return (callback) => {
      const extras = this.withExtras();
      if (extras.stopped !== undefined) callback(extras.stopped.reason);
      else if (extras.stopCallbacks === undefined) extras.stopCallbacks = [callback];
      else extras.stopCallbacks.push(callback);
    };
  }

  get report(): Report {
    return (first: number | string, second?: string) => {
      const { share, step } = checkReport(first, second);
      this.owner.report(this, share, step);
    };
  }

  get began(): () => void {
    return () => this.owner.began(this);
  }

  get used(): TaskContext['used'] {
    return (usage) => this.owner.used(this, usage);
  }

  get grantedMemoryMb(): number | undefined {
    return this.job.extras?.lastFailure?.memoryMb;
  }

  get keeping(): TaskContext['keeping'] {
    return ({ releases = false } = {}) => {
      if (this.isCurrent) this.owner.keep(this, releases);
    };
  }

  get outcomes(): ReadonlyMap<string, Outcome> {
    const extras = this.withExtras();
    if (extras.known === undefined) {
      extras.known = new Map();
      const dependencies = extras.dependencies ?? this.job.dependencies ?? [];
      for (const dependency of dependencies) extras.known.set(dependency.id, dependency.currentOutcome());
    }
    return extras.known;
  }

  get submit(): TaskContext['submit'] {
    return <T>(first: ToolFunction<T> | ExecutionContext, second: ToolFunction<T> | ExecutionContext = {}) =>
      typeof first === 'function'
        ? this.owner.submitChild(this, second as ExecutionContext, first)
        : this.owner.submitChild(this, first, second as ToolFunction<T>);
  }

  adopt(child: Job): void {
    if (child.isSettled) return;
    const extras = this.withExtras();
    extras.children ??= new Set();
    const { children } = extras;
    children.add(child);
    child.withExtras().parent = this;
    child.onSettled(() => children.delete(child));
  }

  /** Call it before the execution settles, which drops the outcomes: the function may read them only afterwards. */
  keepDependencies(): void {
    const { dependencies } = this.job;
    if (dependencies !== undefined) this.withExtras().dependencies = dependencies;
  }

  /** Stops the function and its children. */
  stop(reason: unknown): void {
    const extras = this.withExtras();
    extras.stopped = { reason };
    this.continue();
    extras.controller?.abort(reason);
    for (const callback of extras.stopCallbacks ?? []) callSafely(callback, reason);
    this.cancelChildren('parent-stopped');
  }

  cancelChildren(event: 'parent-failed' | 'parent-stopped'): void {
    const children = this.extras?.children;
    if (children === undefined) return;
    this.owner.cancelChildren([...children], new RelatedCancellation({ event, id: this.id }));
  }

  get lendWhile(): TaskContext['lendWhile'] {
    return (promise) => this.lend(promise);
  }

  private async lend<T>(promise: Promise<T>): Promise<T> {
    const extras = this.withExtras();
    if (extras.openWaits++ === 0) {
      this.owner.lend(this);
      // A branch that waits for the resources no longer needs them: another waits for a child now.
      this.continue();
    }
    try {
      return await promise;
    } finally {
      if (--extras.openWaits === 0 && extras.stopped === undefined) await this.reclaimed();
    }
  }

  /** Lets the function continue, because the resources are back or no longer needed. */
  continue(): void {
    if (this.extras === undefined) return;
    this.extras.resume?.();
    this.extras.resume = undefined;
  }

  private withExtras(): TaskExtras {
    this.extras ??= new TaskExtras();
    return this.extras;
  }

  private reclaimed(): Promise<void> {
    return new Promise((resolve) => {
      this.withExtras().resume = resolve;
      this.owner.reclaim(this);
    });
  }
}

/** An exception goes to the process, as for a listener on the signal, and does not prevent other callbacks. */
function callSafely(callback: (reason: unknown) => void, reason: unknown): void {
  try {
    callback(reason);
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
