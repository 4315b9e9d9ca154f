import type { ParallelToolCoordinator } from '../coordinator/coordinator.ts';
import { VolleyError } from '../core/errors.ts';
import type { FailureReason } from '../core/failure.ts';
import { reasonText } from '../core/words.ts';
import type { TaskRecord } from '../store/records.ts';
import type { Recovery, Store } from '../store/store.ts';
import { ACTIONS } from './actions/all.ts';
import type { BatchAnswer } from './answer.ts';
import type { BatchContext } from './context.ts';
import { shortDetails } from './details.ts';
import type { BatchEventListener } from './events.ts';
import { explainTask } from './explain-task.ts';
import type { RunnableBatch, RunnableOptions } from './forecast/runnable.ts';
import { actionOf, readRequest } from './input/request.ts';
import type { BatchListener, RunningTask } from './run/monitor.ts';
import { BatchRuns } from './runs.ts';
import { TaskIds } from './task-ids.ts';
import { reportTask, type TaskReport } from './task-report.ts';
import { type BatchView, readView, standingOf, viewOfRecord } from './view.ts';

/** What an executor works with. */
export interface BatchExecutorOptions {
  /**
   * Runs the calls. It stays open when the executor is closed. A function opens it when it is needed for the first time,
   * so that whoever only looks at batches need not wait for all tools.
   */
  readonly coordinator: ParallelToolCoordinator | (() => Promise<ParallelToolCoordinator>);
  /** Keeps tasks and results. It stays open, too. */
  readonly store: Store;
}

const NAMES = ACTIONS.map(({ name }) => name);

/**
 * What is behind `batch_executor_tool`, for every door: named batches of tasks that are kept in a store and run in
 * parallel.
 *
 * ```ts
 * const executor = new BatchExecutor({ coordinator, store });
 * await executor.handle({ action: 'add', function: 'read_file', params: { path: 'a.txt' } });
 * console.log((await executor.handle({ action: 'start', wait: true })).text);
 * ```
 */
export class BatchExecutor implements AsyncDisposable {
  private readonly context: BatchContext;
  /** As soon as there is one. */
  private coordinator: ParallelToolCoordinator | undefined;

  constructor({ coordinator: given, store }: BatchExecutorOptions) {
    let opening: Promise<ParallelToolCoordinator> | undefined;
    if (typeof given !== 'function') this.coordinator = given;
    const coordinator = async () => {
      opening ??= typeof given === 'function' ? given() : Promise.resolve(given);
      this.coordinator = await opening;
      return this.coordinator;
    };
    this.context = { coordinator, store, runs: new BatchRuns(coordinator, store), ids: new TaskIds(store) };
  }

  /** Does what a request asks for: an object or JSON text, bare or in an envelope. It never throws. */
  async handle(request: unknown): Promise<BatchAnswer> {
    try {
      const { action, args } = readRequest(request, NAMES);
      const [chosen, { checkInput }] = await Promise.all([
        ACTIONS.find(({ name }) => name === action)!.load(),
        import('./input/check.ts'),
      ]);
      const result = await chosen.run(checkInput(chosen.schema, action, args) as never, this.context);
      return { ok: true, action, ...result };
    } catch (error) {
      return this.refusal(actionOf(request), error);
    }
  }

  /** What {@link handle} answers to `status`, for who has its arguments in hand: no schema has to be loaded for it. */
  async status(batch: string, detailed: boolean): Promise<BatchAnswer> {
    const action = 'status';
    try {
      const { statusOf } = await import('./status-answer.ts');
      return { ok: true, action, ...(await statusOf(this.context, batch, detailed)) };
    } catch (error) {
      return this.refusal(action, error);
    }
  }

  /** How a batch stands now. It costs the same however large the batch is. */
  view(batch = 'default'): Promise<BatchView | undefined> {
    return readView(batch, this.context);
  }

  /** How far a batch is: a part of {@link view} that may be looked at all the time. */
  async standing(
    batch: string,
  ): Promise<Pick<BatchView, 'state' | 'counts' | 'total' | 'progress'> | undefined> {
    const record = await this.context.store.batch(batch);
    return record && standingOf(record, this.context);
  }

  /**
   * How fast a batch goes and how long it will still take; undefined where nobody runs it. If another process does, that
   * one is asked, and this throws if it does not answer.
   */
  async speed(batch: string): Promise<Pick<BatchView, 'ratePerSecond' | 'timeLeft'> | undefined> {
    const { store, runs } = this.context;
    const run = runs.current(batch);
    if (run !== undefined) return run.speed();
    const record = await store.batch(batch);
    const holder = record && runs.otherHolder(record);
    if (holder === undefined) return undefined;
    const { askSpeed } = await import('./holder-ask.ts');
    return askSpeed(this.context, batch, holder);
  }

  /** How batches stand, the newest first: those that were made before the one with this number. */
  async views(
    beforeNumber: number | undefined,
    limit: number,
  ): Promise<(BatchView & { readonly number: number })[]> {
    const records = await this.context.store.batchPage(beforeNumber, limit);
    return Promise.all(
      records.map(async (record) => ({
        ...(await viewOfRecord(record, this.context)),
        number: record.number,
      })),
    );
  }

  /** The attempt that runs here now of a task, by its number in the batch. */
  running(batch: string, seq: number): RunningTask | undefined {
    return this.context.runs.current(batch)?.monitor.attemptOf(seq);
  }

  /** Why the last attempt of a task failed and when the next one is due, while a run waits for that moment. */
  pause({
    batch,
    id,
    pause,
  }: TaskRecord): { readonly reason: FailureReason; readonly until: number } | undefined {
    const run = this.context.runs.current(batch);
    return run === undefined ? pause : run.tasks.get(id)?.pause;
  }

  /** Why a task does not run, or how it ended, when, and what to do, in words; undefined while it runs. */
  explain(batch: string, id: string): Promise<string | undefined> {
    return explainTask(this.context, batch, id);
  }

  /** What became of a task, or why it does not run, in words and in numbers. */
  report(batch: string, id: string): Promise<TaskReport> {
    return reportTask(this.context, batch, id);
  }

  /** Checks tasks as `add_batch` does, and those that are open, and tells what a start would run. It changes nothing. */
  async runnable(
    batch: string,
    tasks: readonly unknown[] = [],
    options: RunnableOptions = {},
  ): Promise<RunnableBatch> {
    const { runnableBatch } = await import('./forecast/runnable.ts');
    return runnableBatch(this.context, batch, tasks, options);
  }

  /** Tells of every end as it comes, of all batches that this executor runs. The answer takes the listener away. */
  watch(listener: BatchListener): () => void {
    const { listeners } = this.context.runs;
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
    };
  }

  /** Tells everything that happens through this executor, as it happens. The answer takes the listener away. */
  follow(listener: BatchEventListener): () => void {
    return this.context.runs.events.add(listener);
  }

  /** Settles tasks of processes that died, of all batches that nobody runs: see {@link Recovery}. */
  recover(): Promise<Recovery> {
    return this.context.runs.recover();
  }

  /**
   * Starts nothing more, lets what runs finish, writes everything down and gives back every lease. What still runs after
   * `graceMs` is ended: it runs again with the next start if that does no harm.
   */
  close(options: { readonly graceMs?: number } = {}): Promise<void> {
    return this.context.runs.close(options.graceMs);
  }

  /** The same as {@link close}. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  private refusal(action: string, thrown: unknown): BatchAnswer {
    const code = thrown instanceof VolleyError ? thrown.code : 'INTERNAL';
    // Where nothing was checked or run, nothing but the request itself can be in it.
    const redacted = (text: string) => this.coordinator?.desk.redactor.text(text) ?? text;
    const message = redacted(reasonText(thrown));
    const details = thrown instanceof VolleyError ? thrown.details : {};
    const problems = (details['problems'] as readonly string[] | undefined)?.map(redacted);
    return {
      ok: false,
      action,
      text: message,
      data: { code, ...shortDetails({ ...details, ...(problems && { problems }) }) },
      error: { code, message },
    };
  }
}
