import { setImmediate as nextTurn } from 'node:timers/promises';
import type { GroupHandle } from '../../engine/group-handle.ts';
import type { Outcome } from '../../engine/outcome.ts';
import type { TaskRecord } from '../../store/records.ts';
import type { Speed } from '../holder-ask.ts';
import { autoConcurrency } from './auto-concurrency.ts';
import { Dependencies } from './dependencies.ts';
import { endOf, type WrittenEnd, writtenEnd } from './ends.ts';
import { ExecutionIds } from './execution-ids.ts';
import { itemFor, resultsOf } from './item.ts';
import { RunJournal } from './journal.ts';
import { RunMonitor } from './monitor.ts';
import { Prediction } from './prediction.ts';
import { noteRetries } from './retries.ts';
import type { RunSetup } from './run-setup.ts';
import { type EndedTask, planTasks, type ReadyTask, ruleOut } from './submission.ts';
import { type RunParts, TaskRun } from './task-run.ts';

const PAGE = 1000;
/** From so many ended tasks on, something can be said of the others. */
const FIRST_PREDICTION = 20;

/** A batch while this process runs it: from the lease to its release. */
export class BatchRun implements RunParts {
  readonly batch: string;
  readonly journal: RunJournal;
  readonly monitor: RunMonitor;
  readonly prediction = new Prediction(() => this.group?.timeLeft());
  /** Settles when everything is written and the lease is released. Never rejects. */
  readonly done: Promise<void>;
  /** What ended the run before its time, if something did. */
  problem: unknown;
  isStopping = false;
  /** Whether no more tasks can join. */
  hasEnded = false;
  group: GroupHandle | undefined;
  /** How many may run at once, as soon as that is known. */
  maxConcurrency: number | undefined;
  /** What has been submitted and is not written down as ended, by id. */
  readonly tasks = new Map<string, TaskRun>();
  private readonly ids: ExecutionIds;
  private readonly groupName: string;
  /** By the steady clock. */
  private readonly deadlineAt: number | undefined;
  private lastSeq = 0;
  private settledCount = 0;
  private pulls: Promise<void> = Promise.resolve();
  private openPulls = 0;
  /** Whether the last look at all open tasks found none that this run does not have. */
  private isDrained = false;
  private resolveDone: () => void = () => {};

  constructor(private readonly setup: RunSetup) {
    const { lease, store, options, listeners, events } = setup;
    this.batch = lease.batch;
    this.ids = new ExecutionIds(this.batch);
    this.groupName = this.ids.nextPrefix();
    this.deadlineAt = options.timeoutMs === undefined ? undefined : performance.now() + options.timeoutMs;
    this.journal = new RunJournal(store, this.batch, (error) => this.abandon(error));
    this.monitor = new RunMonitor(this.batch, listeners, events);
    this.done = new Promise((resolve) => {
      this.resolveDone = resolve;
    });
    lease.lost.addEventListener('abort', this.onLost, { once: true });
  }

  /** Submits open tasks that this run does not have: those added since, or all that are found. */
  pull(which: 'new' | 'all'): Promise<void> {
    this.openPulls++;
    this.isDrained = false;
    this.pulls = this.pulls
      .then(() => this.pullNow(which))
      .catch((error: unknown) => this.abandon(error))
      .finally(() => {
        this.openPulls--;
        this.endIfDone();
      });
    return this.pulls;
  }

  /** Starts nothing more. What runs ends by itself, or at once with `now`; what is left stays open. */
  stop({ now }: { readonly now: boolean }): void {
    this.isStopping = true;
    this.sweep();
    if (now) {
      for (const task of [...this.tasks.values()]) {
        if (task.handle.status !== 'running') continue;
        // Of one that may not run twice, a person decides whether it does.
        task.isLeft = task.isIdempotent;
        task.handle.cancel('the batch was stopped while it ran');
      }
    }
    this.endIfDone();
  }

  /** Ends tasks of the run for good: all, or those of the ids that it has. Says how many, when that is written. */
  async cancel(ids: readonly string[] | 'all', reason: string): Promise<number> {
    await this.pulls;
    const asked = ids === 'all' ? this.tasks.keys() : new Set(ids);
    const tasks = [...asked].flatMap((id) => this.tasks.get(id) ?? []);
    if (ids === 'all') this.group?.cancel(reason);
    else for (const { handle } of tasks) handle.cancel(reason);
    const ends = await Promise.all(tasks.map((task) => task.whenOver()));
    return ends.filter((end) => typeof end === 'object' && end.status === 'cancelled').length;
  }

  attemptOver(): void {
    // The engine learns of it first: what it would try again is to be left.
    if (this.isStopping) setImmediate(() => this.sweep());
  }

  /** What the running tasks reported, summed up: 1.5 for one that is done and one that is half done. */
  partial(): number {
    if (this.group === undefined) return 0;
    const { progress, total, completed, failed, cancelled, skipped } = this.group.progress();
    return Math.max(0, progress * total - completed - failed - cancelled - skipped);
  }

  speed(): Speed {
    return { ratePerSecond: this.monitor.ratePerSecond(), timeLeft: this.prediction.timeLeft() };
  }

  /** Why some of those that wait do so: the first few. */
  explainWaiting(most: number): { readonly id: string; readonly text: string }[] {
    const found: { id: string; text: string }[] = [];
    for (const id of this.tasks.keys()) {
      if (found.length === most) break;
      const text = this.explain(id);
      if (text !== undefined) found.push({ id, text });
    }
    return found;
  }

  /** Why a task waits; undefined for one that does not. */
  explain(id: string): string | undefined {
    const handle = this.tasks.get(id)?.handle;
    if (handle === undefined || handle.status === 'running' || handle.status === 'completed')
      return undefined;
    const { engine } = this.setup.coordinator;
    return engine.handle(handle.id) === handle ? this.plain(engine.explain(handle.id).text) : undefined;
  }

  /** The task for which an execution stands; what tasks have submitted themselves stands for none. */
  taskOf(execution: string): TaskRun | undefined {
    const task = this.tasks.get(this.ids.taskOf(execution));
    return task?.handle.id === execution ? task : undefined;
  }

  /** An id of the engine as the batch knows it, also inside of texts. */
  plain(text: string): string {
    return this.ids.plain(text);
  }

  private readonly onLost = (): void => this.abandon(this.setup.lease.lost.reason);

  /** Ends the run at once, because nothing can be written any more. */
  private abandon(error: unknown): void {
    this.problem ??= error;
    this.journal.close(error);
    this.group?.cancel('the batch was given up');
    this.endIfDone();
  }

  /** Leaves everything for a later run that does not run now. */
  private sweep(): void {
    const waiting = [...this.tasks.values()].filter(({ handle }) => handle.status !== 'running');
    for (const task of waiting) task.isLeft = true;
    for (const { handle } of waiting) handle.cancel('the batch was stopped');
  }

  private async pullNow(which: 'new' | 'all'): Promise<void> {
    const records = await this.openTasks(which === 'new' ? this.lastSeq : 0);
    this.isDrained = which === 'all' && records.length === 0;
    if (records.length === 0) return;
    const { coordinator, store } = this.setup;
    const { tasks, ends } = await planTasks(coordinator.desk, records);
    const dependencies = new Dependencies(store, this.batch, records, this.tasks);
    const ids = new Set(tasks.flatMap(({ ready }) => ready.dependsOn));
    for (;;) {
      const unread = dependencies.unread(ids);
      if (unread.size === 0) break;
      await dependencies.read(unread);
    }
    // From here to the submission nothing is waited for, so nothing changes of what the tasks depend on.
    if (this.isStopping || this.problem !== undefined) return;
    // Somebody has opened tasks again meanwhile: those, too, come with the others or before them.
    if (tasks.some(({ ready }) => dependencies.lacks(ready.dependsOn))) return this.pullNow('all');
    ruleOut(tasks, ends, dependencies);
    const left = ends.size === 0 ? tasks : tasks.filter(({ record }) => !ends.has(record.id));
    if (left.length > 0) this.submit(left, dependencies, new Set(ends.keys()));
    await Promise.all([...ends.values()].map((ended) => this.endEarly(ended)));
  }

  private async endEarly({ record, end }: EndedTask): Promise<void> {
    await this.journal.ended(record.seq, end);
    this.monitor.ended();
    this.monitor.tellEnd(record, end);
    if (end.status !== 'failed') return;
    if (this.setup.options.failFast) this.group?.cancel(`${record.id} was refused`);
    this.monitor.failed({ ...nameOf(record), ...end, attempts: 0, at: Date.now() });
  }

  private async openTasks(afterSeq: number): Promise<TaskRecord[]> {
    const found: TaskRecord[] = [];
    for (let after = afterSeq; ; await nextTurn()) {
      const page = await this.setup.store.tasks(this.batch, {
        status: ['open'],
        afterSeq: after,
        limit: PAGE,
      });
      for (const record of page) if (!this.tasks.has(record.id)) found.push(record);
      after = page.at(-1)?.seq ?? after;
      this.lastSeq = Math.max(this.lastSeq, after);
      if (page.length < PAGE) return found;
    }
  }

  private submit(ready: readonly ReadyTask[], dependencies: Dependencies, ended: ReadonlySet<string>): void {
    const { coordinator, store, options } = this.setup;
    const { maxConcurrency, failFast } = options;
    this.maxConcurrency ??= maxConcurrency === 'auto' ? autoConcurrency(ready) : maxConcurrency;
    const prefix = this.group === undefined ? this.groupName : this.ids.nextPrefix();
    const { batch, groupName: group } = this;
    const resultOf = resultsOf(store, batch);
    const shared = { prefix, group, batch, resultOf, dependencies, ended, desk: coordinator.desk, store };
    const tasks = ready.map(({ record, ready: call }) => new TaskRun(record, call.tool.idempotent, this));
    this.group = coordinator.engine.submitAll(
      ready.map(({ record, ready: call }, index) => itemFor(shared, tasks[index]!, record, call)),
      {
        name: this.groupName,
        maxConcurrency: this.maxConcurrency,
        failFast,
        ...(this.deadlineAt !== undefined && { timeoutMs: Math.max(1, this.deadlineAt - performance.now()) }),
      },
    );
    for (const [index, task] of tasks.entries()) {
      task.handle = this.group.handles[index]!;
      this.tasks.set(task.id, task);
    }
    noteRetries(this.group, this, coordinator.desk.redactor);
    this.group.onSettled((outcome) => this.settled(outcome));
  }

  private settled(outcome: Outcome): void {
    const task = this.taskOf(outcome.id);
    if (task === undefined) return;
    if (outcome.status === 'completed') this.over(task, outcome, 'completed');
    else void this.writeEnd(task, outcome);
  }

  private async writeEnd(task: TaskRun, outcome: Outcome): Promise<void> {
    const { redactor } = this.setup.coordinator.desk;
    const end = await writtenEnd(task, this.journal, () =>
      endOf(task, outcome, redactor, (text) => this.plain(text)),
    );
    this.over(task, outcome, end);
  }

  /** Nothing more will be written of a task. */
  private over(task: TaskRun, outcome: Outcome, end: WrittenEnd): void {
    this.tasks.delete(task.id);
    task.tellOver(end);
    if (end !== undefined && end !== 'opened') this.monitor.ended();
    if (++this.settledCount === FIRST_PREDICTION) this.prediction.begin();
    this.endIfDone();
    if (end === 'completed') this.monitor.completed(task, outcome.durationMs);
    else if (end !== undefined) this.monitor.tellEnd(task, end);
    if (typeof end === 'object' && end.status === 'failed')
      this.monitor.failed({
        ...nameOf(task),
        ...end,
        attempts: task.attemptsBefore + task.attempts,
        at: Date.now(),
      });
  }

  private endIfDone(): void {
    if (this.tasks.size > 0 || this.openPulls > 0 || this.hasEnded) return;
    // Others may have added tasks, or opened some again, since those were submitted.
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
      if (!(await end(this.isStopping || this.problem !== undefined))) {
        // Somebody has added or opened a task since the last look, and was told that this run takes it.
        this.hasEnded = false;
        void this.pull('all');
        return;
      }
    } catch (error) {
      this.problem ??= error;
    }
    lease.lost.removeEventListener('abort', this.onLost);
    this.prediction.end();
    // The engine remembers its last executions, and they lead here: not to all the others, too.
    this.group = undefined;
    this.resolveDone();
  }
}

function nameOf({ id, name, function: tool }: Pick<TaskRecord, 'id' | 'name' | 'function'>) {
  return { id, name, function: tool };
}
