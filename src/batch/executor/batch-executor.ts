import type { z } from 'zod';
import type { ParallelToolCoordinator } from '../../coordinator/coordinator.ts';
import { type ErrorCode, VolleyError } from '../../core/errors.ts';
import type { FailureReason } from '../../core/failure.ts';
import { reasonText } from '../../core/words.ts';
import type { TaskRecord } from '../../store/records.ts';
import type { Recovery, Store } from '../../store/store.ts';
import { ACTIONS, type ActionName } from '../actions/all.ts';
import type { Action } from '../actions/define-action.ts';
import { readRequest, requestedAction } from '../actions/request.ts';
import type { BatchAnswer } from '../answer.ts';
import type { BatchContext } from '../context.ts';
import type { RunnableBatch, RunnableOptions } from '../forecast/runnable.ts';
import type { BatchEventListener } from '../run/events.ts';
import type { RunningTask } from '../run/monitor.ts';
import { BatchRuns } from '../run/runs.ts';
import { TaskIds } from '../task-ids.ts';
import { explainTask, reportTask, type TaskReport } from '../task-report.ts';
import { type BatchView, readView, standingOf, viewOfRecord } from '../view.ts';

/** What an executor works with. */
export interface BatchExecutorOptions {
  /**
   * Runs the calls. It stays open when the executor is closed. A function opens it when it is needed for the first time,
   * so that whoever only looks at batches need not wait for all tools.
   */
  readonly coordinator: ParallelToolCoordinator | (() => Promise<ParallelToolCoordinator>);
  /** Keeps tasks and results. It stays open as well. */
  readonly store: Store;
}

type DefinitionOf<N extends ActionName> = Awaited<
  ReturnType<Extract<(typeof ACTIONS)[number], { readonly name: N }>['load']>
>;

/** A request of {@link BatchExecutor.handle}, by the name of its action. */
export type BatchRequest = {
  [N in ActionName]: { readonly action: N } & z.input<DefinitionOf<N>['schema']>;
}[ActionName];

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
  handle(request: BatchRequest): Promise<BatchAnswer>;
  handle(request: unknown): Promise<BatchAnswer>;
  async handle(request: unknown): Promise<BatchAnswer> {
    try {
      const { action, args } = readRequest(request);
      const [chosen, { checkInput }] = await Promise.all([definitionOf(action), import('../input/check.ts')]);
      const result = await chosen.run(checkInput(chosen.schema, action, args), this.context);
      return { ok: true, action, ...result };
    } catch (error) {
      return this.refusal(requestedAction(request), error);
    }
  }

  /**
   * Does an action whose arguments have been checked already. Throws what {@link handle} answers as a refusal.
   *
   * @internal
   */
  async perform<N extends ActionName>(
    action: N,
    args: z.output<DefinitionOf<N>['schema']>,
  ): Promise<BatchAnswer> {
    try {
      return { ok: true, action, ...(await (await definitionOf(action)).run(args, this.context)) };
    } catch (error) {
      const { data, error: refused } = this.refusal(action, error);
      const { code: _, ...details } = data;
      throw new VolleyError(refused!.code as ErrorCode, refused!.message, details);
    }
  }

  /** The answer of {@link handle} to `status`, without loading its schema: commands ask for nothing more often. */
  async status(batch: string, detailed: boolean): Promise<BatchAnswer> {
    const action = 'status';
    try {
      const { statusOf } = await import('../status.ts');
      return { ok: true, action, ...(await statusOf(this.context, batch, detailed)) };
    } catch (error) {
      return this.refusal(action, error);
    }
  }

  /** Returns a snapshot of a batch. Its cost does not grow with the batch. */
  view(batch = 'default'): Promise<BatchView | undefined> {
    return readView(batch, this.context);
  }

  /** Returns the parts of {@link view} that are cheap enough to poll. */
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
    const { askSpeed } = await import('../run/holder-requests.ts');
    return askSpeed(this.context, batch, holder);
  }

  /** Returns snapshots of the batches that were made before the one with this number, the newest first. */
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

  /** The attempt of a task that runs in this process, by the number of the task. */
  running(batch: string, seq: number): RunningTask | undefined {
    return this.context.runs.current(batch)?.monitor.attemptOf(seq);
  }

  /** Why the last attempt of a task failed and when the next one is due, while a run waits for it. */
  pause({
    batch,
    id,
    pause,
  }: TaskRecord): { readonly reason: FailureReason; readonly until: number } | undefined {
    const run = this.context.runs.current(batch);
    return run === undefined ? pause : run.tasks.get(id)?.pause;
  }

  /** Explains why a task does not run, or how it ended and what to do; undefined while it runs. */
  explain(batch: string, id: string): Promise<string | undefined> {
    return explainTask(this.context, batch, id);
  }

  /** Reports what became of a task, or why it does not run. */
  report(batch: string, id: string): Promise<TaskReport> {
    return reportTask(this.context, batch, id);
  }

  /** Checks tasks as `add_batch` does, and the open ones, and returns what a start would run. Changes nothing. */
  async runnable(
    batch: string,
    tasks: readonly unknown[] = [],
    options: RunnableOptions = {},
  ): Promise<RunnableBatch> {
    const { runnableBatch } = await import('../forecast/runnable.ts');
    return runnableBatch(this.context, batch, tasks, options);
  }

  /** Calls the listener with everything that happens through this executor, as it happens. Returns how to stop that. */
  follow(listener: BatchEventListener): () => void {
    return this.context.runs.events.listen(listener);
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
    // Without a coordinator nothing was checked or run, so the message can only hold parts of the request.
    const redacted = (text: string) => this.coordinator?.redactor.text(text) ?? text;
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

function definitionOf(action: string): Promise<Action> {
  return ACTIONS.find(({ name }) => name === action)!.load() as Promise<Action>;
}

const MAX_ENTRIES = 20;

/** Cuts long lists in the details of an error, such as a cycle of thousands of tasks. */
function shortDetails(details: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(details).map(([name, value]) => [
      name,
      Array.isArray(value) && value.length > MAX_ENTRIES ? value.slice(0, MAX_ENTRIES) : value,
    ]),
  );
}
