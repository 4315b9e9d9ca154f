import { randomInt } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { attemptUsage } from '../../coordinator/call-runner.ts';
import type { ParallelToolCoordinator } from '../../coordinator/coordinator.ts';
import { ReportedError, toCallError } from '../../coordinator/errors.ts';
import type { Placement, PlannedCall, ReadyCall } from '../../coordinator/plan.ts';
import type { Results } from '../../coordinator/references.ts';
import type { ResultCache } from '../../coordinator/result-cache.ts';
import { VolleyError } from '../../core/errors.ts';
import { cancellationText, type FailureReason } from '../../core/failure.ts';
import { MAX_PLANNED } from '../../core/plan.ts';
import type { TimeLeft } from '../../core/predict.ts';
import { priorityLevel } from '../../core/priority.ts';
import type { GroupSpec } from '../../core/spec.ts';
import { countText } from '../../core/words.ts';
import type { GroupHandle, RetryNotice } from '../../engine/group-handle.ts';
import { type Outcome, renameOutcome } from '../../engine/outcome.ts';
import type { Spending } from '../../runners/runner.ts';
import { hasBlobs, withBlobs } from '../../store/blobs.ts';
import {
  type AddedTasks,
  isGroup,
  type StoredSpending,
  type TaskOptions,
  type TaskRecord,
} from '../../store/records.ts';
import type { Lease, Store, TaskOutline, TaskSummary, Unsuccessful } from '../../store/store.ts';
import { autoConcurrency } from './auto-concurrency.ts';
import { Backlog, type WindowSize } from './backlog.ts';
import { TaskDependencies } from './dependencies.ts';
import type { BatchEvents } from './events.ts';
import { type GroupHost, GroupRun, holds } from './group-run.ts';
import type { Speed } from './holder-requests.ts';
import { RunJournal } from './journal.ts';
import { learnedDurations } from './learned-durations.ts';
import { type QuotaPause, RunMonitor } from './monitor.ts';
import { judgesDependencies, type PlannedTask, planTask, planTasks } from './plan-tasks.ts';
import { Prediction } from './prediction.ts';
import { type Budget, SpendingMeter } from './spending.ts';
import { RunOutput } from './task-output.ts';
import { TaskRun, type TaskRunParts, type TaskRunRoles, type WrittenEnd } from './task-run.ts';

/** The options of a start. */
export interface RunOptions {
  readonly maxConcurrency: number | 'auto';
  /** Limits the whole batch, from its start. */
  readonly timeoutMs: number | undefined;
  readonly failFast: boolean;
  /** Whether results may come from the cache, and are kept there. */
  readonly cache: boolean;
  /** Whether all tasks run, even if their results are cached. */
  readonly force: boolean;
  /** What calls of models and agents may cost. When it is used up, the rest stays open. */
  readonly budget?: Budget | undefined;
}

export interface RunSetup {
  readonly coordinator: ParallelToolCoordinator;
  readonly store: Store;
  readonly lease: Lease;
  /** Records the end and releases the lease. Returns false and does neither if open tasks are still to run. */
  readonly end: (leavesOpen: boolean) => Promise<boolean>;
  readonly options: RunOptions;
  /** Whether no other server can go on with it. */
  readonly staysHere: boolean;
  /** What earlier runs have spent. */
  readonly spent?: StoredSpending | undefined;
  readonly events: BatchEvents;
  readonly sizes?: RunSizes | undefined;
}

/** How much of a batch is in memory at once. */
export interface RunSizes extends WindowSize {
  /** Batches with at most this many open tasks are submitted whole. */
  readonly whole: number;
}

const SIZES: RunSizes = { whole: 20_000, ready: 5000, blocked: 5000 };
const PAGE = 1000;
/** Predictions begin after this many tasks have ended. */
const FIRST_PREDICTION = 20;
/** Longer arguments are not kept in memory while a task waits. They are read from the store when it runs. */
const MAX_KEPT_PARAMS = 4096;

/** The root causes of this many skipped tasks are kept. The ones that matter are those of submitted tasks. */
const MAX_CAUSES = 100_000;

/** How many earlier tasks are read to learn durations from. */
const MAX_LEARNED_FROM = 500;

/** Makes execution ids unique in an engine that runs a batch more than once. */
let submissions = 0;

/** A batch that this process runs, from acquiring the lease to releasing it. */
export class BatchRun implements TaskRunParts, GroupHost {
  readonly batch: string;
  readonly journal: RunJournal;
  readonly monitor: RunMonitor;
  readonly output: RunOutput;
  readonly prediction = new Prediction(() => this.timeLeft());
  /** Settles when everything is written and the lease is released. Never rejects. */
  readonly done: Promise<void>;
  /** Why the run ended early, if it did. */
  problem: unknown;
  isStopping = false;
  /** Whether somebody has stopped it, or it has stopped itself, so that the rest is to stay open. */
  wasStopped = false;
  /** Whether it ended because it could not go on, and another process may. */
  isAbandoned = false;
  /** Why it stopped by itself and left tasks open, if it did. */
  stopReason: string | undefined;
  /** Whether no more tasks can join. */
  hasEnded = false;
  group: GroupHandle | undefined;
  /** The tools whose stored usage the engine knows. */
  private readonly recalled = new Set<string>();
  /** Undefined until the first tasks are planned. */
  maxConcurrency: number | undefined;
  /** Submitted tasks whose end is not written yet, by id. */
  readonly tasks = new Map<string, TaskRun>();
  private readonly groupName: string;
  private readonly cache: ResultCache | undefined;
  private readonly meter: SpendingMeter;
  /** The root causes of tasks that are skipped because of an earlier run, also for tasks that depend on those. */
  private readonly earlierCauses = new Map<string, string>();
  /** Monotonic time. */
  private readonly deadlineAt: number | undefined;
  private lastSeq = 0;
  private settledCount = 0;
  private pulls: Promise<void> = Promise.resolve();
  private openPulls = 0;
  /** Whether the last pull of all open tasks found none. */
  private isDrained = false;
  private resolveDone: () => void = () => {};
  private readonly sizes: RunSizes;
  /** Open tasks that are not submitted yet, if the batch is too large to be submitted whole. */
  private backlog: Backlog | undefined;
  /** By tool. */
  private readonly levels = new Map<string, number>();
  private isFilling = false;
  /** How the tasks of the backlog end, if no more of them are submitted. */
  private rest: RestEnd | undefined;
  /** The outside reason for which the last tasks failed, without a success in between. */
  private outage:
    | { readonly kind: string; readonly scope: string | undefined; readonly count: number }
    | undefined;

  constructor(private readonly setup: RunSetup) {
    const { lease, store, options, events } = setup;
    this.batch = lease.batch;
    this.groupName = this.nextPrefix();
    this.sizes = setup.sizes ?? SIZES;
    this.deadlineAt = options.timeoutMs === undefined ? undefined : performance.now() + options.timeoutMs;
    this.journal = new RunJournal(store, this.batch, (error) => this.abandon(error));
    this.monitor = new RunMonitor(this.batch, events);
    this.meter = new SpendingMeter(options.budget, setup.spent);
    this.stopReason = this.meter.exhausted;
    this.isStopping = this.wasStopped = this.stopReason !== undefined;
    const { redactor, logLimits } = setup.coordinator;
    this.output = new RunOutput(store, this.batch, redactor, logLimits);
    const mode = options.force ? 'force' : 'use';
    this.cache = options.cache ? setup.coordinator.resultCache(store, mode) : undefined;
    this.done = new Promise((resolve) => {
      this.resolveDone = resolve;
    });
    lease.lost.addEventListener('abort', this.onLost, { once: true });
  }

  /** Submits open tasks that are not submitted yet: those added since the last pull, or all. */
  pull(which: 'new' | 'all'): Promise<void> {
    this.isDrained = false;
    return this.inTurn(() => this.pullNow(which));
  }

  /** Submits tasks, or changes tasks that are not submitted. Only one such work is done at a time. */
  private inTurn(work: () => Promise<void>): Promise<void> {
    this.openPulls++;
    this.pulls = this.pulls
      .then(work)
      .catch((error: unknown) => this.abandon(error))
      .finally(() => {
        this.openPulls--;
        this.endIfDone();
      });
    return this.pulls;
  }

  get store(): Store {
    return this.setup.store;
  }

  get coordinator(): ParallelToolCoordinator {
    return this.setup.coordinator;
  }

  get staysHere(): boolean {
    return this.setup.staysHere;
  }

  /** Releases the batch before the run has ended. */
  release(): Promise<void> {
    return this.setup.lease.release();
  }

  /**
   * Starts no more tasks. Running tasks finish, or are cancelled with `now`. The rest stays open, for another process to go
   * on with it if this one only `closes`.
   */
  stop({ now, closes = false }: { readonly now: boolean; readonly closes?: boolean }): void {
    if (!closes) this.wasStopped = true;
    this.isStopping = true;
    this.sweep();
    for (const { group } of this.tasks.values()) group?.leave();
    if (now) {
      for (const task of [...this.tasks.values()]) {
        if (task.handle.status !== 'running') continue;
        // Whether a task that is not idempotent runs again is for a person to decide.
        task.isLeft = task.isIdempotent;
        task.handle.cancel('the batch was stopped while it ran');
      }
    }
    this.endIfDone();
  }

  /** Cancels all tasks, or those with these ids. Returns the number of cancelled tasks once that is stored. */
  async cancel(ids: readonly string[] | 'all', reason: string): Promise<number> {
    await this.pulls;
    const rest = ids === 'all' ? this.endRest({ status: 'cancelled', message: reason }) : undefined;
    const withdrawn = ids === 'all' ? 0 : await this.withdrawInTurn(ids, reason);
    const asked = ids === 'all' ? undefined : new Set(ids);
    const isAsked = ({ id, owner }: TaskRun) =>
      asked === undefined || asked.has(id) || (owner !== undefined && asked.has(owner.id));
    const tasks = [...this.tasks.values()].filter(isAsked);
    if (asked === undefined) this.group?.cancel(reason);
    else for (const { handle } of tasks) handle.cancel(reason);
    const ends = await Promise.all(tasks.map((task) => task.whenOver()));
    const cancelled = tasks.filter((_, index) => {
      const end = ends[index];
      return typeof end === 'object' && end.status === 'cancelled';
    });
    const neverRun = cancelled.reduce((sum, { group }) => sum + (group?.neverRun ?? 0), 0);
    return withdrawn + cancelled.length + neverRun + ((await rest) ?? 0);
  }

  /** The number of tasks that have not ended, as far as they were found. */
  get left(): number {
    return this.tasks.size + (this.backlog?.size ?? 0);
  }

  private async withdrawInTurn(ids: readonly string[], reason: string): Promise<number> {
    let withdrawing: Promise<number> = Promise.resolve(0);
    await this.inTurn(async () => {
      withdrawing = this.withdraw(ids, reason);
      // The caller reports it.
      await withdrawing.catch(() => {});
    });
    return withdrawing;
  }

  /** Cancels tasks that are not submitted yet. */
  private async withdraw(ids: readonly string[], reason: string): Promise<number> {
    const missing = ids.filter((id) => !this.tasks.has(id));
    if (missing.length === 0) return 0;
    const groups = new Map<number, GroupRun>();
    for (const { group } of this.tasks.values()) if (group !== undefined) groups.set(group.seq, group);
    const found = await this.store.tasksById(this.batch, missing);
    const withdrawn: string[] = [];
    for (const { id, groupSeq = 0 } of found.values()) {
      // It may have been submitted meanwhile.
      if (this.tasks.has(id)) continue;
      groups.get(groupSeq)?.withdrawn.add(id);
      withdrawn.push(id);
    }
    if (withdrawn.length === 0) return 0;
    const count = await this.store.cancel(this.batch, reason, withdrawn);
    for (const id of withdrawn) this.backlog?.withdrawn(id);
    return count;
  }

  spent({ seq }: TaskRun, spending: Spending): void {
    // If writing fails, the journal ends the run.
    this.journal.spent(seq, spending).catch(() => {});
    this.meter.add(spending);
    if (this.isStopping) return;
    this.stopReason = this.meter.exhausted;
    if (this.stopReason !== undefined) this.stop({ now: false });
  }

  attemptOver(): void {
    // The engine must see the end first. Otherwise it would retry tasks that are left for a later run.
    if (this.isStopping) setImmediate(() => this.sweep());
  }

  /** The summed progress of running tasks: 1.5 for one that is done and one that is half done. */
  partial(): number {
    if (this.group === undefined) return 0;
    const { progress, total, completed, failed, cancelled, skipped } = this.group.progress();
    return Math.max(0, progress * total - completed - failed - cancelled - skipped);
  }

  speed(): Speed {
    return {
      ratePerSecond: this.monitor.ratePerSecond(),
      timeLeft: this.prediction.timeLeft(),
      pauses: this.pauses(),
    };
  }

  /** The quotas that are used up. Those of other batches of this process are among them. */
  private pauses(): QuotaPause[] {
    return this.coordinator.engine
      .quotas()
      .flatMap(({ scope, pausedUntil }) =>
        pausedUntil === undefined ? [] : [{ scope, until: pausedUntil }],
      );
  }

  /** Explains why the first few waiting tasks wait; of the items of a group, one. */
  explainWaiting(max: number): { readonly id: string; readonly text: string }[] {
    const found: { id: string; text: string }[] = [];
    const groups = new Set<GroupRun>();
    for (const [id, { owner }] of this.tasks) {
      if (found.length === max) break;
      if (owner !== undefined && groups.has(owner)) continue;
      const text = this.explain(id);
      if (text === undefined) continue;
      found.push({ id, text });
      if (owner !== undefined) groups.add(owner);
    }
    return found;
  }

  /** Explains why a task waits. Returns undefined if it does not wait. */
  explain(id: string): string | undefined {
    const handle = this.tasks.get(id)?.handle;
    if (handle === undefined) return this.explainItem(id);
    if (handle.status === 'running' || handle.status === 'completed') return undefined;
    const { engine } = this.setup.coordinator;
    if (engine.handle(handle.id) !== handle) return undefined;
    const standing = engine.explain(handle.id, this.taskId);
    // Nobody but the engine knows the group of the batch by its name.
    return standing.reason === 'group-limit'
      ? `the batch has ${standing.running} of at most ${standing.limit} running`
      : standing.text;
  }

  /** Says that a task is not submitted yet, because the batch is large. */
  get backlogText(): string | undefined {
    if (this.backlog === undefined) return undefined;
    return `The batch is large and is loaded in parts; ${countText(this.backlog.size, 'task')} to come.`;
  }

  /** Predicts the time left. Tasks that are not submitted count as the others. */
  private timeLeft(): TimeLeft | undefined {
    const left = this.group?.timeLeft();
    if (left === undefined || this.backlog === undefined) return left;
    const factor = 1 + this.backlog.size / Math.max(1, this.tasks.size);
    return {
      lowMs: left.lowMs * factor,
      expectedMs: left.expectedMs * factor,
      highMs: left.highMs * factor,
    };
  }

  /** Explains why an item is not submitted yet. */
  private explainItem(id: string): string | undefined {
    const group = this.tasks.get(id.slice(0, id.lastIndexOf('[')))?.group;
    if (group === undefined || !Number.isFinite(group.maxConcurrent)) return undefined;
    return `It is waiting for other items of ${group.id}, of which at most ${group.maxConcurrent} run at once.`;
  }

  /** Returns the task of an execution, or undefined for executions that tasks submitted themselves. */
  private taskOf(execution: string): TaskRun | undefined {
    const task = this.tasks.get(this.taskId(execution));
    return task?.handle.id === execution ? task : undefined;
  }

  /** Turns the execution id `batch#3/task` into the task id. Ids of other batches and lists stay the same. */
  private readonly taskId = (execution: string): string => {
    const isOwn = execution.startsWith(`${this.batch}#`);
    return isOwn ? execution.slice(execution.indexOf('/', this.batch.length) + 1) : execution;
  };

  private nextPrefix(): string {
    return `${this.batch}#${++submissions}`;
  }

  private readonly onLost = (): void => this.abandon(this.setup.lease.lost.reason);

  /** Ends the run because the store can no longer be written, or because another process is to go on. */
  abandon(error: unknown): void {
    this.isAbandoned = true;
    this.problem ??= error;
    this.journal.close(error);
    this.group?.cancel('the batch was abandoned');
    this.endIfDone();
  }

  /** Leaves all waiting tasks to a later run. */
  private sweep(): void {
    const waiting = [...this.tasks.values()].filter(({ isWaiting }) => isWaiting);
    for (const task of waiting) task.isLeft = true;
    for (const { handle } of waiting) handle.cancel('the batch was stopped');
  }

  /** Lets the engine know what earlier calls of tools in processes used. */
  private async recallUsage(tasks: readonly PlannedTask[]): Promise<void> {
    const { coordinator, store } = this.setup;
    const tools = new Map<string, string>();
    for (const { planned } of tasks)
      if (planned.kind === 'ready' && planned.tool.isolation === 'process')
        tools.set(planned.tool.name, planned.options.toolName);
    const fresh = new Set([...tools.keys()].filter((name) => !this.recalled.has(name)));
    if (fresh.size === 0) return;
    for (const name of fresh) this.recalled.add(name);
    for (const [name, usages] of await store.usages(fresh))
      coordinator.engine.recallUsage(tools.get(name)!, usages.map(attemptUsage));
  }

  private async pullNow(which: 'new' | 'all'): Promise<void> {
    if (this.backlog !== undefined || (await this.isLarge())) return this.pullLarge(which);
    const records = await this.openTasks(which === 'new' ? this.lastSeq : 0);
    this.isDrained = which === 'all' && records.length === 0;
    if (records.length === 0) return;
    const { coordinator, store } = this.setup;
    const tasks = await planTasks(coordinator.planner, records);
    await this.recallUsage(tasks);
    const dependencies = await TaskDependencies.read(store, this.batch, tasks, this.tasks);
    await this.learnDurations(tasks);
    if (this.isStopping || this.problem !== undefined) return;
    // Tasks that were reopened in the meantime are submitted with the others.
    if (dependencies.openedFor(tasks).size > 0) return this.pullNow('all');
    await this.submitAndSettle(tasks, dependencies);
  }

  /** Submits tasks and waits for the ends of those that do not run. */
  private async submitAndSettle(
    tasks: readonly PlannedTask[],
    dependencies: TaskDependencies,
  ): Promise<void> {
    const ended = this.submit(tasks, dependencies);
    await Promise.all(ended.map((task) => task.whenOver()));
  }

  private async isLarge(): Promise<boolean> {
    const { open = 0 } = (await this.store.batch(this.batch))?.counts ?? {};
    return open > this.sizes.whole;
  }

  /** Adds open tasks to the backlog and submits the first ones. */
  private async pullLarge(which: 'new' | 'all'): Promise<void> {
    const { maxConcurrency } = this.setup.options;
    const { ready, blocked } = this.sizes;
    const atOnce = maxConcurrency === 'auto' ? 0 : maxConcurrency;
    this.backlog ??= new Backlog(
      randomInt(2 ** 31),
      { ready: Math.max(ready, 2 * atOnce), blocked },
      (id) => this.tasks.get(id)?.seq,
    );
    for (let after = which === 'new' ? this.lastSeq : 0; !this.isStopping; await nextTurn()) {
      const page = await this.store.outlines(this.batch, { afterSeq: after, limit: PAGE });
      for (const task of page) if (!this.tasks.has(task.id)) this.addToBacklog(this.backlog, task);
      after = page.at(-1)?.seq ?? after;
      this.lastSeq = Math.max(this.lastSeq, after);
      if (page.length < PAGE) break;
    }
    this.backlog.link();
    this.isDrained = which === 'all' && this.backlog.size === 0;
    await this.fill();
  }

  private addToBacklog(backlog: Backlog, { seq, id, function: tool, options }: TaskOutline): void {
    const { onDependencyFailure = 'skip', dependsOn = [] } = options;
    backlog.add({
      seq,
      id,
      level: options.priority === undefined ? this.levelOf(tool) : priorityLevel(options.priority),
      dependsOn,
      isSkippedAtOnce: onDependencyFailure === 'skip' && !judgesDependencies(options),
    });
  }

  /** The level of tasks without a priority. */
  private levelOf(tool: string): number {
    let level = this.levels.get(tool);
    if (level === undefined) {
      level = priorityLevel(this.coordinator.planner.priorityOf(tool));
      this.levels.set(tool, level);
    }
    return level;
  }

  /** Submits tasks of the backlog as far as they fit. */
  private async fill(): Promise<void> {
    this.isFilling = false;
    const { backlog } = this;
    while (backlog !== undefined && this.rest === undefined) {
      if (this.deadlineAt !== undefined && performance.now() >= this.deadlineAt) {
        this.missDeadline();
        return;
      }
      if (this.isStopping || this.problem !== undefined) return;
      if (backlog.isStuck) backlog.release();
      const seqs = backlog.take(PAGE);
      if (seqs.length === 0) return;
      await this.submitTaken(backlog, seqs);
      await nextTurn();
    }
  }

  private fillSoon(): void {
    if (this.isFilling) return;
    this.isFilling = true;
    void this.inTurn(() => this.fill());
  }

  private async submitTaken(backlog: Backlog, seqs: readonly number[]): Promise<void> {
    const records = await this.store.openTasks(this.batch, seqs);
    const tasks = await planTasks(this.coordinator.planner, records);
    let dependencies: TaskDependencies;
    for (;;) {
      dependencies = await TaskDependencies.read(this.store, this.batch, tasks, this.tasks);
      const opened = dependencies.openedFor(tasks);
      if (opened.size === 0) break;
      // They were reopened after the backlog was read.
      for (const id of opened.keys()) backlog.takeOne(id);
      const more = await this.store.openTasks(this.batch, [...opened.values()]);
      tasks.push(...(await planTasks(this.coordinator.planner, more)));
    }
    if (this.isStopping || this.problem !== undefined || this.rest !== undefined) return;
    if (tasks.length > 0) await this.submitAndSettle(tasks, dependencies);
    if (records.length === seqs.length) return;
    // The others have ended or were cleared. Their dependents find that in the store.
    const found = new Set(records.map(({ seq }) => seq));
    for (const seq of seqs) if (!found.has(seq)) backlog.ended(seq, true);
  }

  private missDeadline(): void {
    const message = 'It was not started within the time limit of the batch.';
    void this.endRest({ status: 'failed', reason: 'deadline', code: 'EXECUTION_DEADLINE', message });
  }

  /** Submits no more tasks of the backlog. They end like this when the submitted ones have ended. Returns their number. */
  private endRest(end: Unsuccessful): Promise<number> | undefined {
    if (this.backlog === undefined) return undefined;
    if (this.rest === undefined) {
      let resolve = (_: number) => {};
      const ended = new Promise<number>((settle) => {
        resolve = settle;
      });
      this.rest = { end, ended, resolve };
    }
    const { ended } = this.rest;
    this.endIfDone();
    return ended;
  }

  private async writeRest({ end, resolve }: RestEnd): Promise<void> {
    this.backlog = undefined;
    this.rest = undefined;
    let count = 0;
    try {
      count = await this.journal.restEnded(end);
    } finally {
      resolve(count);
    }
    const { events } = this.setup;
    if (events.hasListeners) events.publish({ type: 'changed', batch: this.batch, at: Date.now() });
  }

  /** Gives the engine the durations of the functions in earlier processes, so that it can plan from the start. */
  private async learnDurations(tasks: readonly PlannedTask[]): Promise<void> {
    if (this.group !== undefined || tasks.length < 2 || tasks.length > MAX_PLANNED) return;
    const toolOf = new Map<string, string>();
    for (const { record, planned } of tasks)
      if (planned.kind === 'ready') toolOf.set(record.function, planned.options.toolName);
    const learned = await learnedDurations(this.store, new Set(toolOf.keys()), MAX_LEARNED_FROM);
    for (const [name, { samplesMs }] of learned)
      this.coordinator.engine.learnDurations(toolOf.get(name)!, samplesMs);
  }

  private async openTasks(afterSeq: number): Promise<TaskRecord[]> {
    const found: TaskRecord[] = [];
    for (let after = afterSeq; ; await nextTurn()) {
      const page = await this.setup.store.tasks(this.batch, {
        status: ['open'],
        afterSeq: after,
        limit: PAGE,
        withoutItems: true,
      });
      for (const record of page) if (!this.tasks.has(record.id)) found.push(record);
      after = page.at(-1)?.seq ?? after;
      this.lastSeq = Math.max(this.lastSeq, after);
      if (page.length < PAGE) return found;
    }
  }

  /** Returns the tasks that have already ended: those that cannot run, and those that earlier runs decided to skip. */
  private submit(planned: readonly PlannedTask[], dependencies: TaskDependencies): TaskRun[] {
    const { maxConcurrency, failFast } = this.setup.options;
    this.maxConcurrency ??=
      maxConcurrency === 'auto'
        ? autoConcurrency(
            planned.map((task) => task.planned),
            this.coordinator.hasWorkers,
          )
        : maxConcurrency;
    const prefix = this.group === undefined ? this.groupName : this.nextPrefix();
    const tasks = planned.map((task) => this.taskRunOf(task, dependencies));
    this.group = this.submitTasks(planned, tasks, prefix, dependencies, {
      name: this.groupName,
      maxConcurrency: this.maxConcurrency,
      failFast,
      ...(this.deadlineAt !== undefined && { timeoutMs: Math.max(1, this.deadlineAt - performance.now()) }),
    });
    return tasks.filter(({ handle, knownEnd }) => knownEnd !== undefined || handle.status === 'failed');
  }

  /** Changes how many tasks may run at once. Running tasks are not affected. */
  limitConcurrency(max: number): void {
    this.maxConcurrency = max;
    this.coordinator.engine.setLimits({ groups: { [this.groupName]: { maxConcurrency: max } } });
  }

  /** Submits items of a group that runs. */
  async submitItems(items: readonly TaskRecord[], owner: GroupRun): Promise<void> {
    const planned = await planTasks(this.coordinator.planner, items);
    // From here on, nothing else happens until they are submitted.
    if (owner.isClosed || this.isStopping || this.problem !== undefined) return;
    const left = planned.filter(({ record }) => !owner.withdrawn.has(record.id));
    if (left.length === 0) return;
    const roles = { owner };
    const tasks = left.map(({ record, planned }) => {
      const isIdempotent = planned.kind === 'ready' && planned.tool.idempotent;
      return new TaskRun(record, isIdempotent, undefined, this, roles);
    });
    owner.itemsSubmitted(tasks.length);
    // The limits of the batch hold already.
    this.submitTasks(left, tasks, this.nextPrefix(), TaskDependencies.none, { name: this.groupName });
  }

  itemsAdded({ firstSeq, lastSeq, addedAt }: AddedTasks): void {
    const { events } = this.setup;
    if (!events.hasListeners) return;
    events.publish({ type: 'added', batch: this.batch, fromSeq: firstSeq, toSeq: lastSeq, at: addedAt });
  }

  async cancelItems(owner: GroupRun, reason: string): Promise<void> {
    for (const task of [...this.tasks.values()]) if (task.owner === owner) task.handle.cancel(reason);
    await owner.itemsOver();
    await this.journal.itemsEnded(owner.seq, { status: 'cancelled', message: reason });
  }

  leave({ id }: GroupRun): void {
    const task = this.tasks.get(id);
    if (task === undefined) return;
    task.isLeft = true;
    task.handle.cancel('the batch was stopped');
  }

  private submitTasks(
    planned: readonly PlannedTask[],
    tasks: readonly TaskRun[],
    prefix: string,
    dependencies: TaskDependencies,
    options: GroupSpec,
  ): GroupHandle {
    const group = this.coordinator.planner.submit(
      planned.map((task) => task.planned),
      (call, index) => this.place(tasks[index]!, planned[index]!.record, call, prefix, dependencies),
      options,
    );
    for (const [index, task] of tasks.entries()) {
      task.handle = group.handles[index]!;
      this.tasks.set(task.id, task);
    }
    // No task of a group starts before this returns.
    for (const { knownEnd, handle } of tasks) if (knownEnd !== undefined) handle.cancel('it is skipped');
    group.onRetry((notice) => this.retrying(notice));
    group.onSettled((outcome) => this.settled(outcome));
    return group;
  }

  private taskRunOf({ record, planned }: PlannedTask, dependencies: TaskDependencies): TaskRun {
    // A group may run again: it continues with its items.
    const isIdempotent = planned.kind === 'ready' && (planned.tool.idempotent || planned.isGroup === true);
    const end = planned.kind === 'ready' ? dependencies.endOf(planned) : undefined;
    if (end?.status === 'skipped' && end.cause !== undefined) this.noteCause(record.id, end.cause);
    return new TaskRun(record, isIdempotent, end, this, this.rolesOf(record));
  }

  private noteCause(id: string, cause: string): void {
    this.earlierCauses.set(id, cause);
    if (this.earlierCauses.size <= MAX_CAUSES) return;
    const [oldest] = this.earlierCauses.keys();
    this.earlierCauses.delete(oldest!);
  }

  private rolesOf(record: TaskRecord): TaskRunRoles | undefined {
    const { seq, id, options } = record;
    const needsVerdict = options.when !== undefined || judgesDependencies(options);
    if (!needsVerdict && !isGroup(options)) return undefined;
    const { maxConcurrent, onItemError } = options;
    const settings = {
      ...(maxConcurrent !== undefined && { maxConcurrent }),
      ...(onItemError !== undefined && { onItemError }),
    };
    return {
      ...(isGroup(options) && { group: new GroupRun(this, seq, id, settings) }),
      ...(needsVerdict && { verdict: () => this.verdictOn(record) }),
    };
  }

  /** Decides whether a task runs, now that all its dependencies have ended. */
  private async verdictOn({ seq, id, options }: TaskRecord): Promise<Unsuccessful | undefined> {
    const isExpanded = isGroup(options) && (await this.store.items(this.batch, seq, { limit: 1 })).length > 0;
    if (isExpanded) return undefined;
    const cause = judgesDependencies(options) ? await this.rootCauseOf(options) : undefined;
    if (cause !== undefined) {
      this.noteCause(id, cause);
      return { status: 'skipped', cause };
    }
    const { when, mentions } = options;
    if (when === undefined) return undefined;
    const ids = new Set(mentions);
    const { json } = await this.resultsOf(ids);
    const results = new Map([...ids].map((other) => [other, json(other)]));
    if (await holds({ source: when, results })) return undefined;
    const message = this.coordinator.redactor.text(`Its condition is false: ${when}`);
    return { status: 'skipped', cause: undefined, code: 'WHEN_FALSE', message };
  }

  /**
   * Returns the task because of which a task with expressions is skipped, if any. A dependency that was skipped by its
   * own condition, or because of such a one, is undefined in expressions.
   */
  private async rootCauseOf({ dependsOn = [], mentions = [] }: TaskOptions): Promise<string | undefined> {
    // Ends other than completions are stored after the dependents were released.
    const ending = dependsOn.flatMap((id) => this.tasks.get(id) ?? []).filter(({ isSettled }) => isSettled);
    await Promise.all(ending.map((task) => task.whenOver()));
    const found = await this.store.tasksById(this.batch, dependsOn);
    const unsuccessful = dependsOn.filter((id) => found.get(id)?.status !== 'completed');
    if (unsuccessful.length === 0) return undefined;
    const rootOf = (id: string) => found.get(id)?.cause ?? id;
    const roots = await this.store.tasksById(this.batch, new Set(unsuccessful.map(rootOf)));
    const mentioned = new Set(mentions);
    const isUndefined = (id: string) => mentioned.has(id) && isSkippedByItself(roots.get(rootOf(id)));
    const first = unsuccessful.find((id) => !isUndefined(id));
    return first === undefined ? undefined : rootOf(first);
  }

  private place(
    task: TaskRun,
    record: TaskRecord,
    call: PlannedCall,
    prefix: string,
    dependencies: TaskDependencies,
  ): Placement {
    const executionId = (id: string) => `${prefix}/${id}`;
    const { dependsOn, hasFailedDependency } =
      call.kind === 'ready'
        ? dependencies.placementOf(call, executionId)
        : { dependsOn: [], hasFailedDependency: false };
    const { group, owner } = task;
    const isLong = group === undefined && record.params.length > MAX_KEPT_PARAMS;
    return {
      id: executionId(task.id),
      dependsOn,
      hasFailedDependency,
      results: this.readResults,
      group: this.groupName,
      around:
        group === undefined
          ? task
          : { attempt: (context) => task.attempt(context, (inner, observer) => group.run(inner, observer)) },
      reload: isLong ? () => this.reload(task.id) : undefined,
      isOptional: owner?.allowsFailures,
      cache: this.cache,
    };
  }

  private async reload(id: string): Promise<ReadyCall> {
    const { store, coordinator } = this.setup;
    const record = await store.task(this.batch, id);
    if (record === undefined)
      throw new VolleyError('UNKNOWN_TASK', `Task ${id} was cleared while it was waiting.`);
    const planned = await planTask(coordinator.planner, record);
    if (planned.kind === 'refused') throw planned.error;
    return planned;
  }

  /** Reads the results of other tasks when an attempt needs them. */
  private readonly readResults: Placement['results'] = (_, ids) => this.resultsOf(ids);

  readonly resultsOf = async (ids: ReadonlySet<string>): Promise<Results> => {
    const { store } = this.setup;
    const texts = await store.results(this.batch, ids);
    const values = new Map<string, unknown>();
    for (const [id, text] of texts) {
      if (hasBlobs(text)) values.set(id, await withBlobs(store, this.batch, JSON.parse(text)));
    }
    const missing = [...ids].filter((id) => !texts.has(id));
    const others = missing.length === 0 ? undefined : await store.tasksById(this.batch, missing);
    const json = (id: string) => {
      const text = texts.get(id);
      if (text === undefined && others?.get(id)?.status === 'completed') throw tooLarge(id);
      return text;
    };
    const value = (id: string) => {
      const text = json(id);
      if (text !== undefined) return values.has(id) ? values.get(id) : JSON.parse(text);
      const status = others?.get(id)?.status;
      throw new VolleyError(
        'UNRESOLVED_REFERENCE',
        `The arguments refer to the result of ${id}, which has none: it ${status === undefined ? 'was cleared' : `is ${status}`}.`,
        { id },
      );
    };
    return { value, json };
  };

  /**
   * An outage pauses like a used up quota, so that nothing fails of it before the batch is stopped. But one task alone
   * is not put back for ever.
   */
  examined(task: TaskRun, error: unknown): unknown {
    const { maxOutages } = this.coordinator;
    if (!(error instanceof ReportedError) || error.outage === undefined || maxOutages === 0) return error;
    if (error.limit !== undefined || ++task.outages > maxOutages) return error;
    const { scope } = error.outage;
    return Object.assign(error, { limit: scope === undefined ? {} : { scope } });
  }

  private retrying(notice: RetryNotice): void {
    const { id, reason, error, retryInMs, quota } = notice;
    const task = this.taskOf(id);
    if (task === undefined) return;
    const { redactor } = this.setup.coordinator;
    const message = error === undefined ? failureMessage(reason) : toCallError(error, redactor).message;
    const durationMs = task.attemptMs();
    // Not now: others may have started since it ended. Rounded down, so that it is not after the next start.
    const endedAt = task.attemptStartedAt + Math.floor(durationMs);
    const retryAt = Date.now() + Math.round(retryInMs);
    task.pause = { reason, until: retryAt };
    this.monitor.retrying(task, notice);
    if (quota !== undefined) {
      task.isPutBack = true;
      this.journal.putBack(task.seq, durationMs, message).catch(() => {});
      this.noteOutage(error);
      return;
    }
    const attempt = { startedAt: task.attemptStartedAt, endedAt, durationMs, reason, message, retryAt };
    // If writing fails, the journal ends the run.
    this.journal.attemptFailed(task.seq, attempt).catch(() => {});
  }

  /** Stops the batch if all that ended lately failed for the same external reason. */
  private noteOutage(error: unknown): void {
    const { redactor, maxOutages } = this.coordinator;
    const { outage, message } = toCallError(error, redactor);
    if (outage === undefined) return;
    const { kind, scope } = outage;
    const isSame = this.outage?.kind === kind && this.outage.scope === scope;
    this.outage = { kind, scope, count: isSame ? this.outage!.count + 1 : 1 };
    const { count } = this.outage;
    if (count < maxOutages || this.isStopping) return;
    const calls = count === 1 ? 'a call' : `${count} calls in a row`;
    const text = `${calls} failed for the same external reason (${kind}): ${message}`;
    this.problem ??= new VolleyError('OUTAGE', `${text}${/[.!?]$/.test(text) ? '' : '.'}`, { kind, scope });
    this.stop({ now: false });
  }

  private settled(outcome: Outcome): void {
    const task = this.taskOf(outcome.id);
    if (task === undefined) return;
    if (outcome.status === 'failed') this.failedFast(task);
    // Anything else that happens shows that the outside reason is not shared by all.
    if (outcome.status === 'completed' || outcome.status === 'failed') this.outage = undefined;
    if (outcome.status === 'completed') this.over(task, 'completed');
    else void this.writeEnd(task, outcome).then((end) => this.over(task, end));
  }

  /** The engine has cancelled the other tasks, as far as they are submitted. */
  private failedFast({ id, owner }: TaskRun): void {
    if (!this.setup.options.failFast || this.backlog === undefined || owner?.allowsFailures === true) return;
    const message = cancellationText({ event: 'fail-fast', id });
    void this.endRest({ status: 'cancelled', message });
    this.group?.cancel(message);
  }

  /** Stores the end of a task that did not complete, unless it stays open. */
  private async writeEnd(task: TaskRun, outcome: Outcome): Promise<WrittenEnd> {
    const { journal } = this;
    try {
      if (task.group !== undefined) await this.closeGroup(task.group, task, outcome);
      if (journal.isClosed || (task.isLeft && !task.hasStarted)) return undefined;
      if (task.isLeft) {
        if (!task.isPutBack) await journal.putBack(task.seq, task.attemptMs(), 'The batch was stopped.');
        return 'opened';
      }
      const end = task.knownEnd ?? this.endOf(task, outcome);
      const durationMs = task.hasStarted ? task.attemptMs() : undefined;
      if (end !== undefined) await journal.ended(task.seq, end, durationMs);
      return end;
    } catch {
      // The journal has ended the run already.
      return undefined;
    }
  }

  /** Ends what is left of a group. Its items end before it does. */
  private async closeGroup(group: GroupRun, task: TaskRun, outcome: Outcome): Promise<void> {
    group.stop();
    await group.finished;
    if (task.isLeft || this.journal.isClosed) return;
    const end = task.knownEnd ?? this.endOf(task, outcome);
    if (end === undefined) return;
    const reason = outcome.status === 'cancelled' ? outcome.reason : `its group ${group.id} has ended`;
    for (const { owner, handle } of [...this.tasks.values()]) if (owner === group) handle.cancel(reason);
    await group.itemsOver();
    group.neverRun = await this.journal.itemsEnded(group.seq, end);
  }

  private endOf(task: TaskRun, engineOutcome: Outcome): Unsuccessful | undefined {
    const { redactor } = this.setup.coordinator;
    const outcome = renameOutcome(engineOutcome, task.function, this.taskId);
    switch (outcome.status) {
      case 'completed':
        // The attempt has already stored this, with its result.
        return undefined;
      case 'failed': {
        const { message, code } = toCallError(outcome.error, redactor);
        return { status: 'failed', reason: outcome.reason, message, ...(code !== undefined && { code }) };
      }
      case 'cancelled':
        return { status: 'cancelled', message: redactor.text(outcome.reason) };
      case 'skipped': {
        const { cause } = outcome;
        return { status: 'skipped', cause: cause && (this.earlierCauses.get(cause) ?? cause) };
      }
    }
  }

  /** Removes a task once its end is stored. */
  private over(task: TaskRun, end: WrittenEnd): void {
    this.tasks.delete(task.id);
    this.backlog?.ended(task.seq, end === 'completed');
    task.owner?.itemOver(task.id, end);
    task.resolveOver(end);
    if (++this.settledCount === FIRST_PREDICTION) this.prediction.begin();
    if (this.backlog?.isDue === true) this.fillSoon();
    this.endIfDone();
    if (end !== undefined) this.monitor.ended(task, end);
  }

  private endIfDone(): void {
    if (this.tasks.size > 0 || this.openPulls > 0 || this.hasEnded) return;
    if (this.rest !== undefined && this.problem === undefined) {
      const { rest } = this;
      void this.inTurn(() => this.writeRest(rest));
      return;
    }
    if (this.backlog !== undefined && !this.isStopping && this.problem === undefined) {
      if (this.backlog.size > 0) {
        this.fillSoon();
        return;
      }
      this.backlog = undefined;
    }
    // Tasks may have been added or reopened since the last pull.
    if (!this.isStopping && this.problem === undefined && !this.isDrained) {
      void this.pull('all');
      return;
    }
    this.hasEnded = true;
    void this.end();
  }

  private async end(): Promise<void> {
    const { lease, end } = this.setup;
    try {
      await Promise.all([this.cache?.close(), this.output.close()]);
      if (!(await end(this.isStopping || this.problem !== undefined))) {
        // A task was added or reopened since the last pull, and the caller was promised that this run takes it.
        this.hasEnded = false;
        void this.pull('all');
        return;
      }
    } catch (error) {
      this.problem ??= error;
    }
    lease.lost.removeEventListener('abort', this.onLost);
    this.rest?.resolve(0);
    this.backlog = undefined;
    this.prediction.end();
    // The engine keeps its last executions, which refer to this run. Without this they would keep the whole group alive.
    this.group = undefined;
    this.resolveDone();
  }
}

/** How the tasks that are not submitted end. */
interface RestEnd {
  readonly end: Unsuccessful;
  /** Their number, when that is stored. */
  readonly ended: Promise<number>;
  resolve(count: number): void;
}

/** Whether a task was skipped by its condition, or because it runs only if a dependency fails. */
function isSkippedByItself(task: TaskSummary | undefined): boolean {
  return task?.status === 'skipped' && task.cause === undefined;
}

function tooLarge(id: string): VolleyError {
  return new VolleyError(
    'RESULT_TOO_LARGE',
    `Together, the results of the items of ${id} are too large to be used as one list. Use smaller results.`,
    { id },
  );
}

function failureMessage(reason: FailureReason): string {
  switch (reason) {
    case 'timeout':
      return 'It exceeded its timeout.';
    case 'stalled':
      return 'It reported no progress for too long.';
    default:
      return `It failed: ${reason}.`;
  }
}
