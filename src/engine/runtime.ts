import type { Effects } from '../core/effects.ts';
import { VolleyError } from '../core/errors.ts';
import type { Execution } from '../core/execution.ts';
import type { Failure, RelatedCancellation } from '../core/failure.ts';
import type { Group } from '../core/group.ts';
import { show } from '../core/numbers.ts';
import { predictRemaining, type TimeLeft } from '../core/predict.ts';
import { PRIORITIES } from '../core/priority.ts';
import { seededRandom } from '../core/random.ts';
import { Scheduler } from '../core/scheduler.ts';
import type { SchedulerOptions } from '../core/scheduler-options.ts';
import type { ExecutionSpec, GroupSpec } from '../core/spec.ts';
import { Status } from '../core/status.ts';
import type { AttemptUsage } from '../core/usage.ts';
import { ChildHandle, checkNesting } from './children.ts';
import type { Clock } from './clock.ts';
import { checkContext, checkFunction, defaultToolName, type ExecutionContext, toSpec } from './context.ts';
import type { GroupItem, RefusedItem } from './engine.ts';
import type { ProgressStream } from './event-log.ts';
import { type GroupEnd, groupOutcome, type RetryNotice, Settlements } from './group-handle.ts';
import type { CancelResult, ExecutionHandle } from './handle.ts';
import { AllocationHistory } from './history.ts';
import { inThisContext } from './in-this-context.ts';
import { Job, type JobOwner } from './job.ts';
import { Lanes } from './lanes.ts';
import { type ExecutionSnapshot, ProgressLog, type RetryPause } from './progress-log.ts';
import type { Task, TaskOwner, ToolFunction } from './task.ts';
import { toFailure } from './tool-failure.ts';

export interface RuntimeOptions extends SchedulerOptions {
  readonly eventLogSize: number;
  readonly allocationHistorySize: number;
  readonly clock: Clock;
}

/** The function of items that fail when they are submitted. */
const neverCalled: ToolFunction = () => undefined;

/** The shell around the scheduler: turns its decisions into calls, promises and events, and reports what happens. */
export class Runtime implements Effects, JobOwner, TaskOwner {
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly log: ProgressLog;
  readonly history: AllocationHistory;
  readonly settlements = new Settlements();
  private readonly lanes: Lanes;
  private readonly signalLinks = new SignalLinks<Job>((jobs, reason) => void this.cancelEach(jobs, reason));
  /** Whether pausing is rejected, because paused work would never end. */
  isClosing = false;
  private idleCallbacks: (() => void)[] = [];
  private readonly groupCallbacks = new Map<Group, (() => void)[]>();
  private readonly groupEnds = new WeakMap<Group, GroupEnd>();
  /** By group, the callback for failed attempts that will be retried. */
  readonly retryCallbacks = new WeakMap<Group, (notice: RetryNotice) => void>();

  constructor({ eventLogSize, allocationHistorySize, clock, ...options }: RuntimeOptions) {
    this.clock = clock;
    this.scheduler = new Scheduler(this, options, ['signal', 'run', 'error', 'isOptional']);
    const { catalog, lifecycle, dispatcher } = this.scheduler;
    const groups = () => [catalog.root, ...catalog.groups.values()];
    this.log = new ProgressLog(this.clock, eventLogSize, groups, lifecycle.counts);
    this.history = new AllocationHistory(allocationHistorySize, this.clock, dispatcher.resources);
    this.lanes = new Lanes(this.scheduler, this.clock, this, (now) => this.turnEnded(now));
  }

  /** Whether the engine is idle and every stopped attempt has ended or was abandoned. */
  get isIdle(): boolean {
    const { counts, lingering } = this.scheduler.lifecycle;
    if (counts[Status.running]! + counts[Status.queued]! > 0) return false;
    return counts[Status.pending]! + counts[Status.retrying]! + lingering === 0;
  }

  submit<T>(context: ExecutionContext, run: ToolFunction<T>): Job<T> {
    checkContext(context);
    checkFunction(run);
    const job = new Job<T>(this, run);
    const requestedAt = this.lanes.requestTurn();
    // A deadline counts from its own submission, however busy the caller was since the first of this turn.
    const now = context.deadlineMs === undefined ? requestedAt : this.clock.now();
    this.scheduler.submit(job, toSpec(context, this, run), now);
    if (context.signal !== undefined) this.linkSignals([job as Job], [context]);
    return job;
  }

  check(context: ExecutionContext): void {
    checkContext(context);
    this.scheduler.check(toSpec(context, this), this.clock.now());
  }

  submitAll(items: readonly (GroupItem | RefusedItem)[], options: GroupSpec): { group: Group; jobs: Job[] } {
    if (!Array.isArray(items))
      throw new VolleyError('INVALID_VALUE', `submitAll takes a list, but it got ${show(items)}.`);
    const specs: ExecutionSpec[] = new Array(items.length);
    const jobs: Job[] = new Array(items.length);
    let refused: [Job, Failure][] | undefined;
    let hasSignals = false;
    // Not `for…of`: its results are objects, and this function is rarely called often enough for V8 to avoid them.
    for (let index = 0; index < items.length; index++) {
      const item: GroupItem | RefusedItem = items[index];
      checkContext(item);
      const run = item.run === undefined && 'error' in item ? neverCalled : item.run!;
      checkFunction(run);
      specs[index] = toSpec(item, this, run);
      const job = new Job(this, run);
      jobs[index] = job;
      if (item.isOptional === true) job.withExtras().isOptional = true;
      if (item.signal !== undefined) hasSignals = true;
      if (run === neverCalled) {
        refused ??= [];
        refused.push([job, toFailure((item as RefusedItem).error)]);
      }
    }
    this.lanes.requestTurn();
    const now = this.clock.now();
    const group = this.scheduler.submitAll(jobs, specs, now, options);
    if (refused !== undefined) this.scheduler.refuse(group, refused, now);
    if (hasSignals) this.linkSignals(jobs, items);
    return { group, jobs };
  }

  /** Changes something in the scheduler and lets it run again. */
  change(change: (scheduler: Scheduler, now: number) => void): void {
    change(this.scheduler, this.clock.now());
    this.lanes.deliverStops();
    this.lanes.requestTurn();
  }

  pause(group?: Group): void {
    if (this.isClosing)
      throw new VolleyError('ENGINE_CLOSED', 'The engine is closed, so paused work would never finish.');
    this.change((scheduler) => scheduler.pause(group));
  }

  /**
   * Predicts how long a group, or everything, will still take. The seed is fixed, so equal states give equal
   * predictions.
   */
  timeLeft(group?: Group): TimeLeft | undefined {
    return predictRemaining(this.scheduler, group, this.clock.now(), seededRandom(1));
  }

  onIdle(callback: () => void): void {
    if (this.isIdle) callback();
    else this.idleCallbacks.push(callback);
  }

  onGroupEnd(group: Group, callback: () => void): void {
    if (group.unsettled === 0) {
      callback();
      return;
    }
    const callbacks = this.groupCallbacks.get(group);
    if (callbacks === undefined) this.groupCallbacks.set(group, [callback]);
    else callbacks.push(callback);
  }

  /** The next end of a group. */
  endOf(group: Group): GroupEnd {
    const known = this.groupEnds.get(group);
    if (known !== undefined && known.outcome === undefined) return known;
    const end: GroupEnd = { outcome: undefined };
    this.groupEnds.set(group, end);
    this.onGroupEnd(group, () => {
      end.outcome = groupOutcome(group, this.clock.now());
    });
    return end;
  }

  // Effects of the scheduler.

  start(execution: Execution): void {
    this.log.statistics.started(execution);
    this.log.started(execution);
    this.lanes.start(execution);
  }

  stop(execution: Execution): void {
    this.lanes.stop(execution);
  }

  retrying(execution: Execution, failure: Failure, now: number): void {
    const pause = this.pauseOf(execution, failure, now);
    if (pause.quota === undefined) this.log.statistics.retried();
    else this.log.statistics.refused();
    const extras = (execution as Job).withExtras();
    // Memory that was granted once is kept.
    const { memoryMb = extras.lastFailure?.memoryMb } = failure;
    extras.lastFailure = memoryMb === undefined ? failure : { ...failure, memoryMb };
    this.log.retrying(execution, failure, now, pause);
    const callback = this.retryCallbacks.get(execution.demand.group);
    if (callback === undefined) return;
    const { id, attempt } = execution;
    const { reason, error } = failure;
    // Never in the middle of a change.
    queueMicrotask(() => callback({ id, attempt, reason, error, ...pause }));
  }

  /** How long it waits at least, and the quota that is to blame if there is one. */
  private pauseOf(execution: Execution, { limit }: Failure, now: number): RetryPause {
    if (limit === undefined) return { retryInMs: execution.retryAt - now };
    const { until = now } = this.scheduler.dispatcher.quotas.byName.get(execution.quota) ?? {};
    return { quota: limit.scope ?? execution.quota, retryInMs: Math.max(0, until - now) };
  }

  settled(execution: Execution): void {
    if (execution.state === Status.completed) this.log.statistics.completed(execution);
    this.log.settled(execution);
    (execution as Job).announce();
    this.settlements.settled(execution as Job);
    const { group } = execution.demand;
    if (group.unsettled === 0 && this.groupCallbacks.size > 0) this.groupEnded(group);
  }

  released(execution: Execution, now: number): void {
    this.history.released(execution, now);
  }

  abandoned(execution: Execution, now: number): void {
    this.log.statistics.abandoned();
    this.log.abandoned(execution, now);
  }

  resumed(execution: Execution): void {
    this.history.resumed(execution, this.clock.now());
    (execution as Job).task?.continue();
  }

  // Requests from handles and attempts.

  cancel(job: Job, reason: unknown): CancelResult {
    return { cancelled: this.cancelEach([job], reason) > 0, status: job.status };
  }

  snapshot(job: Job): ExecutionSnapshot {
    return this.log.snapshot(job);
  }

  follow(job: Job): ProgressStream {
    return this.log.follow(job);
  }

  report(task: Task, progress: number | undefined, step: string | undefined): void {
    const execution = task.job;
    const now = this.clock.now();
    if (this.scheduler.progress(execution, task.attempt, now))
      this.log.reported(execution, now, progress, step);
  }

  began(task: Task): void {
    this.scheduler.began(task.job, task.attempt, this.clock.now());
  }

  used(task: Task, usage: AttemptUsage): void {
    this.change((scheduler) => scheduler.used(task.job.toolName, [usage], task.job));
  }

  keep({ job, attempt }: Task, releases: boolean): void {
    this.change((scheduler, now) => scheduler.keep(job, attempt, releases, now));
  }

  submitChild<T>(parent: Task, context: ExecutionContext, run: ToolFunction<T>): ExecutionHandle<T> {
    if (!parent.isCurrent) {
      throw new VolleyError(
        'EXECUTION_CANCELLED',
        `${parent.id} can no longer submit children: this attempt is over.`,
      );
    }
    checkContext(context);
    checkFunction(run);
    checkNesting(parent, context.dependsOn, (id) => this.scheduler.graph.find(id) as Job | undefined);
    const { priority = PRIORITIES[parent.job.level]!, toolName = defaultToolName(run) } = context;
    const child = this.submit({ ...context, priority, toolName }, inThisContext(run));
    parent.adopt(child as Job);
    return new ChildHandle(parent, child);
  }

  /** Their functions are stopped together with the parent's, not here, however deeply they are nested. */
  cancelChildren(children: readonly Job[], reason: RelatedCancellation): void {
    this.scheduler.cancel(children, reason, this.clock.now());
    this.lanes.requestTurn();
  }

  lend(task: Task): void {
    if (!task.isCurrent) return;
    const { job } = task;
    this.change((scheduler, now) => {
      if (job.room === 'held') this.history.released(job, now);
      scheduler.lend(job);
    });
  }

  reclaim(task: Task): void {
    const execution = task.job;
    if (!task.isCurrent || execution.room !== 'lent') {
      task.continue();
      return;
    }
    this.change((scheduler) => scheduler.reclaim(execution));
  }

  private turnEnded(now: number): void {
    this.history.observe(now);
    if (!this.isIdle) return;
    this.lanes.rest();
    if (this.idleCallbacks.length === 0) return;
    const callbacks = this.idleCallbacks;
    this.idleCallbacks = [];
    for (const callback of callbacks) callback();
  }

  private groupEnded(group: Group): void {
    const callbacks = this.groupCallbacks.get(group);
    this.groupCallbacks.delete(group);
    for (const callback of callbacks ?? []) callback();
  }

  private cancelEach(jobs: readonly Job[], reason: unknown): number {
    let cancelled = 0;
    this.change((scheduler, now) => {
      cancelled = scheduler.cancel(jobs, reason, now);
    });
    return cancelled;
  }

  private linkSignals(jobs: readonly Job[], contexts: readonly ExecutionContext[]): void {
    const aborted = new Set<AbortSignal>();
    for (let index = 0; index < jobs.length; index++) {
      const { signal } = contexts[index]!;
      if (signal === undefined) continue;
      const job = jobs[index]!;
      // A failed dependency may have settled it at once, and nothing else would remove the link.
      if (!job.isSettled) job.withExtras().unlink = this.signalLinks.link(job, signal);
      if (signal.aborted) aborted.add(signal);
    }
    for (const signal of aborted) this.signalLinks.aborted(signal);
  }
}

/** Cancels executions when the caller's signal is aborted, with one listener for each signal. */
class SignalLinks<T> {
  private readonly linked = new WeakMap<AbortSignal, Set<T>>();

  constructor(private readonly cancel: (items: readonly T[], reason: unknown) => void) {}

  /** Returns a function that removes the link. For a signal that is aborted already, call `aborted`. */
  link(item: T, signal: AbortSignal): () => void {
    const items = this.itemsOf(signal);
    items.add(item);
    return () => {
      if (!items.delete(item) || items.size > 0) return;
      signal.removeEventListener('abort', this.heard);
      this.linked.delete(signal);
    };
  }

  /** Cancels all its executions together; otherwise one would be skipped because another was cancelled. */
  aborted(signal: AbortSignal): void {
    const items = this.linked.get(signal);
    if (items !== undefined) this.cancel([...items], signal.reason);
  }

  private itemsOf(signal: AbortSignal): Set<T> {
    let items = this.linked.get(signal);
    if (items === undefined) {
      items = new Set();
      this.linked.set(signal, items);
      signal.addEventListener('abort', this.heard, { once: true });
    }
    return items;
  }

  private readonly heard = ({ target }: Event): void => this.aborted(target as AbortSignal);
}
