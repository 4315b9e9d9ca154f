import { checkKnown } from '../core/check-known.ts';
import { VolleyError } from '../core/errors.ts';
import type { Execution } from '../core/execution.ts';
import { type Explanation, explain } from '../core/explain.ts';
import type { Group } from '../core/group.ts';
import { checkBoolean, checkNumber, checkObject, show } from '../core/numbers.ts';
import type { WorkerPlacement } from '../core/placement.ts';
import type { TimeLeft } from '../core/predict.ts';
import { PRIORITIES } from '../core/priority.ts';
import type { QuotaStanding } from '../core/quota.ts';
import { EXECUTION_FIELDS, type GroupSpec } from '../core/spec.ts';
import type { ToolState } from '../core/tool.ts';
import type { AttemptUsage } from '../core/usage.ts';
import { clockText } from './clock.ts';
import { checkFunction, defaultToolName, type ExecutionContext } from './context.ts';
import {
  checkEngineLimits,
  type EngineLimits,
  type EngineOptions,
  runtimeOptions,
} from './engine-options.ts';
import { GroupHandle } from './group-handle.ts';
import type { CancelResult, ExecutionHandle } from './handle.ts';
import type { AllocationRecord, UtilizationSample } from './history.ts';
import type { Job } from './job.ts';
import { ProgressTracker } from './progress-tracker.ts';
import { Runtime } from './runtime.ts';
import type { ExecutionStatistics, ToolUsage } from './statistics.ts';
import type { TaskContext, ToolFunction } from './task.ts';

export type { EngineLimits, EngineOptions };

/** An execution of a group, with its work. */
export interface GroupItem<T = unknown> extends ExecutionContext {
  readonly run: ToolFunction<T>;
  /**
   * Whether its failure does not end a `failFast` group.
   *
   * @internal
   */
  readonly isOptional?: boolean;
}

/** An execution that fails with `error` on submission, without an attempt and regardless of dependencies. */
export interface RefusedItem extends ExecutionContext {
  readonly error: unknown;
  readonly run?: undefined;
  /** @internal */
  readonly isOptional?: boolean;
}

/** The type of the value that an item of a group ends with. */
export type ItemValue<I> = I extends GroupItem ? Awaited<ReturnType<I['run']>> : never;

/** Options of {@link ParallelExecutionEngine.map}: those of each execution, and how many may run at once. */
export interface MapOptions extends Omit<ExecutionContext, 'id' | 'group'> {
  /** Default: as many as the limits of the engine allow. */
  readonly concurrency?: number;
}

const MAP_OPTIONS: ReadonlySet<string> = new Set(
  [...EXECUTION_FIELDS, 'signal', 'concurrency'].filter((field) => field !== 'id' && field !== 'group'),
);
const CLOSE_OPTIONS: ReadonlySet<string> = new Set(['cancel']);

/**
 * Runs functions in parallel, within limits, in the order of urgency and dependencies.
 *
 * ```ts
 * await using engine = new ParallelExecutionEngine({ maxConcurrency: 8 });
 * const page = engine.submit(({ signal }) => fetch(url, { signal }), { toolName: 'fetch' });
 * console.log(await page.wait());
 * ```
 */
export class ParallelExecutionEngine implements AsyncDisposable {
  private readonly runtime: Runtime;
  private closing: Promise<void> | undefined;
  /**
   * Increases with every change of the limits.
   *
   * @internal
   */
  limitsVersion = 0;

  constructor(options: EngineOptions = {}) {
    this.runtime = new Runtime(runtimeOptions(options));
    this.progress = new ProgressTracker({}, this.runtime.log);
  }

  /** Updates and aggregated progress of all executions. */
  readonly progress: ProgressTracker;

  /** Submits a function. It is called once its dependencies and resources allow it, never before this returns. */
  submit<T>(run: ToolFunction<T>, options?: ExecutionContext): ExecutionHandle<T>;
  /** The same, with the options first. */
  submit<T>(context: ExecutionContext, run: ToolFunction<T>): ExecutionHandle<T>;
  submit<T>(
    first: ToolFunction<T> | ExecutionContext,
    second?: ToolFunction<T> | ExecutionContext,
  ): ExecutionHandle<T> {
    this.assertOpen();
    if (typeof first !== 'function') return this.runtime.submit(first, second as ToolFunction<T>);
    return this.runtime.submit(second === undefined ? {} : (second as ExecutionContext), first);
  }

  /**
   * Calls a function for every item of a list and returns the values in the order of the items. The first failure
   * cancels the rest and rejects with its error.
   */
  async map<I, R>(
    items: Iterable<I>,
    run: (item: I, index: number, task: TaskContext) => R | PromiseLike<R>,
    options: MapOptions = {},
  ): Promise<R[]> {
    if (typeof Object(items)[Symbol.iterator] !== 'function')
      throw new VolleyError('INVALID_VALUE', `map takes a list, but it got ${show(items)}.`);
    checkFunction(run);
    checkObject('The options of map', options);
    checkKnown('option of map', options, MAP_OPTIONS);
    const { concurrency, toolName = defaultToolName(run), ...context } = options;
    if (concurrency !== undefined)
      checkNumber('concurrency', concurrency, { min: 1, integer: true, allowInfinity: true });
    const group = this.submitAll(
      Array.from(items, (item, index) => ({
        ...context,
        toolName,
        run: (task: TaskContext) => run(item, index, task),
      })),
      { failFast: true, ...(concurrency !== undefined && { maxConcurrency: concurrency }) },
    );
    const outcomes = await group.outcomes();
    const failed = outcomes.findIndex(({ status }) => status === 'failed');
    const ended = failed === -1 ? outcomes.findIndex(({ status }) => status !== 'completed') : failed;
    if (ended !== -1) await group.handles[ended]!.wait();
    return outcomes.map((outcome) => (outcome as { value: R }).value);
  }

  /**
   * Submits a group: all of it or, on error, nothing. Its members may depend on each other in any order. A {@link
   * RefusedItem} has failed before this returns and takes no resources.
   */
  submitAll<const T extends readonly (GroupItem | RefusedItem)[]>(
    items: T,
    options: GroupSpec = {},
  ): GroupHandle<{ readonly [K in keyof T]: ItemValue<T[K]> }> {
    this.assertOpen();
    const { group, jobs } = this.runtime.submitAll(items, options);
    return new GroupHandle(this.runtime, group, jobs);
  }

  /** Throws what {@link submit} would throw for this context alone: invalid values, demands that never fit. */
  check(context: ExecutionContext): void {
    this.runtime.check(context);
  }

  /**
   * Records how long a tool took in earlier processes, in milliseconds, if it has not run here yet.
   *
   * @internal
   */
  learnDurations(toolName: string, durationsMs: readonly number[]): void {
    this.runtime.scheduler.learn(toolName, durationsMs);
  }

  /** The handle of an execution that has not settled, or settled recently. */
  handle(id: string): ExecutionHandle | undefined {
    return this.runtime.scheduler.graph.find(id) as Job | undefined;
  }

  /** Cancels one execution; see {@link ExecutionHandle.cancel}. */
  cancel(id: string, reason?: unknown): CancelResult {
    return this.runtime.cancel(this.find(id) as Job, reason);
  }

  /** Cancels every execution of a group that has not settled. */
  cancelGroup(name: string, reason?: unknown): void {
    const group = this.findGroup(name);
    this.runtime.change((scheduler, now) => scheduler.cancelGroup(group, reason, now));
  }

  /** Cancels everything that has not settled. The engine stays open. */
  cancelAll(reason?: unknown): void {
    this.runtime.change((scheduler, now) => scheduler.cancelAll(reason, now));
  }

  /** Stops starting executions, in one group or all. Running ones continue. */
  pause(group?: string): void {
    this.runtime.pause(group === undefined ? undefined : this.findGroup(group));
  }

  /** Undoes a {@link pause} of the same group, or the general one. */
  resume(group?: string): void {
    const found = group === undefined ? undefined : this.findGroup(group);
    this.runtime.change((scheduler) => scheduler.resume(found));
  }

  /** Changes limits at any time. Running executions keep their resources; waiting ones are reconsidered. */
  setLimits(limits: EngineLimits): void {
    const checked = checkEngineLimits(limits);
    this.limitsVersion++;
    this.runtime.change((scheduler) => scheduler.limit(checked));
  }

  /**
   * Places executions on workers from now on; limits of resources then belong to each worker.
   *
   * @internal
   */
  usePlacement(placement: WorkerPlacement): void {
    this.limitsVersion++;
    this.runtime.change((scheduler) => scheduler.usePlacement(placement));
  }

  /**
   * Applies a change of the workers.
   *
   * @internal
   */
  changeWorkers(change: (placement: WorkerPlacement) => void): void {
    this.runtime.change((scheduler) => scheduler.changeWorkers(change));
  }

  /**
   * Why an execution is not running, or what its status is: as data, and as `text` for people, such as
   * `waits for the lock "db", held by exec-12 (migrate)`. `rename` may give the executions that are mentioned other ids.
   */
  explain(id: string, rename?: (id: string) => string): Explanation {
    const execution = this.find(id);
    const { scheduler, clock } = this.runtime;
    const now = clock.now();
    const wallMs = clock.epoch + now;
    const { lastFailure } = (execution as Job).extras ?? {};
    return explain(scheduler, execution, now, lastFailure, rename, (inMs) =>
      clockText(wallMs + inMs, wallMs),
    );
  }

  /** The quotas that are used up, or were lately. */
  quotas(): QuotaStatus[] {
    const { scheduler, clock } = this.runtime;
    const now = clock.now();
    return scheduler.dispatcher.quotas.standings(now).map(({ pausedForMs, ...standing }) => ({
      ...standing,
      pausedUntil: pausedForMs === 0 ? undefined : clock.epoch + now + pausedForMs,
    }));
  }

  /**
   * Treats refusals as ordinary failures from now on, because whoever gives this engine its work pauses.
   *
   * @internal
   */
  ignoreQuotas(): void {
    this.runtime.change((scheduler) => {
      scheduler.dispatcher.quotas.isOff = true;
    });
  }

  /**
   * Adds what earlier attempts of a tool used to what is known of it, unless something is known already.
   *
   * @internal
   */
  recallUsage(toolName: string, usages: readonly AttemptUsage[]): void {
    const { scheduler } = this.runtime;
    if (scheduler.catalog.tools.get(toolName)?.usage !== undefined) return;
    this.runtime.change(() => scheduler.used(toolName, usages));
  }

  /**
   * Predicts how long a group, or everything, will still take, as a range that holds in four of five cases; undefined
   * while no durations are known. It takes a few milliseconds. See {@link TimeLeft}.
   */
  timeLeft(group?: string): TimeLeft | undefined {
    return this.runtime.timeLeft(group === undefined ? undefined : this.findGroup(group));
  }

  /** Counts, durations and resource usage. */
  statistics(): ExecutionStatistics {
    const { scheduler, log } = this.runtime;
    const utilization = scheduler.dispatcher.resources.utilization();
    const usage = [...scheduler.catalog.tools.values()].flatMap((tool) => usageOf(tool) ?? []);
    return { ...log.statistics.summary(log.counts), utilization, usage };
  }

  /** The number of executions that wait for resources, by priority after inheritance. */
  queued(): Readonly<Record<(typeof PRIORITIES)[number], number>> {
    const counts = PRIORITIES.map(() => 0);
    const { catalog, dispatcher } = this.runtime.scheduler;
    for (const tool of catalog.tools.values())
      for (const { queue } of tool.classes) queue.countLevels(counts, ({ level }) => level);
    for (const lock of dispatcher.resources.locks)
      for (const { waiters } of lock.queues) waiters.countLevels(counts, ({ level }) => level);
    return Object.fromEntries(PRIORITIES.map((name, level) => [name, Math.round(counts[level]!)])) as Record<
      (typeof PRIORITIES)[number],
      number
    >;
  }

  /** The most recently released allocations, oldest first. */
  allocationHistory(): AllocationRecord[] {
    return this.runtime.history.allocations();
  }

  /** The usage of each resource over time, coarser the longer the engine runs. */
  utilizationHistory(): UtilizationSample[] {
    return this.runtime.history.utilization();
  }

  /** Waits until the engine is idle, including work submitted meanwhile. */
  drain(): Promise<void> {
    return new Promise((resolve) => this.runtime.onIdle(resolve));
  }

  /**
   * Accepts no more work and waits for the rest; with `cancel` the rest is cancelled first. Pauses end, because paused
   * work would never finish. Running functions may still submit children; a function that is keeping its result is
   * waited for, however long that takes. Calling it again returns the same promise, and may add the cancellation.
   */
  close(options: { readonly cancel?: boolean } = {}): Promise<void> {
    checkObject('The options of close', options);
    checkKnown('option of close', options, CLOSE_OPTIONS);
    if (options.cancel !== undefined) checkBoolean('cancel', options.cancel);
    this.runtime.isClosing = true;
    this.closing ??= this.drain().then(() => this.runtime.log.close());
    if (options.cancel === true) this.cancelAll('the engine was closed');
    this.runtime.change((scheduler) => scheduler.resumeAll());
    return this.closing;
  }

  /** The same as {@link close}: `await using` waits for everything. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  private assertOpen(): void {
    if (this.closing !== undefined) {
      throw new VolleyError(
        'ENGINE_CLOSED',
        'The engine is closed and accepts no more work. Create a new one.',
      );
    }
  }

  private find(id: string): Execution {
    const execution = this.runtime.scheduler.graph.find(id);
    if (execution === undefined) {
      throw new VolleyError(
        'UNKNOWN_EXECUTION',
        `No execution has the id ${show(id)}, or it settled long ago.`,
        { id },
      );
    }
    return execution;
  }

  private findGroup(name: string): Group {
    const group = this.runtime.scheduler.catalog.groups.get(name);
    if (group === undefined) {
      throw new VolleyError('UNKNOWN_GROUP', `No group has the name ${show(name)}, or it has ended.`, {
        name,
      });
    }
    return group;
  }
}

/** A quota of an outside service that is used up, or was lately. */
export interface QuotaStatus extends Omit<QuotaStanding, 'pausedForMs'> {
  /** Until when nothing starts that needs it, in milliseconds since 1970; undefined if the pause is over. */
  readonly pausedUntil: number | undefined;
}

function usageOf({ name, usage }: ToolState): ToolUsage | undefined {
  if (usage === undefined) return undefined;
  const { samples, claimed } = usage;
  return { toolName: name, samples, cpu: usage.figures('cpu'), memoryMb: usage.figures('memoryMb'), claimed };
}
