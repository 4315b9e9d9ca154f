import type { z } from 'zod';
import type { ParallelToolCoordinator } from '../../coordinator/coordinator.ts';
import { type ErrorCode, VolleyError } from '../../core/errors.ts';
import type { FailureReason } from '../../core/failure.ts';
import { reasonText } from '../../core/words.ts';
import type { BatchRecord, TaskRecord } from '../../store/records.ts';
import type { Recovery, Store } from '../../store/store.ts';
import { ACTIONS, type ActionName } from '../actions/all.ts';
import type { Action } from '../actions/define-action.ts';
import { readRequest, requestedAction } from '../actions/request.ts';
import type { BatchAnswer } from '../answer.ts';
import type { BatchContext, OtherServers } from '../context.ts';
import type { LargeCheck } from '../forecast/large-check.ts';
import type { RunnableBatch, RunnableOptions } from '../forecast/runnable.ts';
import type { RunSizes } from '../run/batch-run.ts';
import type { BatchEventListener } from '../run/events.ts';
import type { RunningTask } from '../run/monitor.ts';
import { BatchRuns } from '../run/runs.ts';
import { TaskIds } from '../task-ids.ts';
import { explainTask, reportTask, type TaskReport } from '../task-report.ts';
import { type BatchPhase, type BatchView, batchStanding, phaseOf, readView, viewOfRecord } from '../view.ts';

/** The parts that an executor uses. */
export interface BatchExecutorOptions {
  /**
   * Runs the calls. Closing the executor leaves it open. A function is called when the coordinator is first needed, so
   * that callers who only read batches do not wait for tools to load.
   */
  readonly coordinator: ParallelToolCoordinator | (() => Promise<ParallelToolCoordinator>);
  /** Stores tasks and results. Closing the executor leaves it open, too. */
  readonly store: Store;
  /**
   * How much of a batch is in memory at once.
   *
   * @internal
   */
  readonly sizes?: RunSizes;
}

type DefinitionOf<N extends ActionName> = Awaited<
  ReturnType<Extract<(typeof ACTIONS)[number], { readonly name: N }>['load']>
>;

/** A request of {@link BatchExecutor.handle}, by the name of its action. */
export type BatchRequest = {
  [N in ActionName]: { readonly action: N } & z.input<DefinitionOf<N>['schema']>;
}[ActionName];

/**
 * Runs named batches of tasks in parallel and keeps them in a store. The library, HTTP, MCP and the command line all
 * use it.
 *
 * ```ts
 * const executor = new BatchExecutor({ coordinator, store });
 * await executor.handle({ action: 'add', function: 'read_file', params: { path: 'a.txt' } });
 * console.log((await executor.handle({ action: 'start', wait: true })).text);
 * ```
 */
export class BatchExecutor implements AsyncDisposable {
  private readonly context: BatchContext;
  /** Undefined until it is first needed. */
  private coordinator: ParallelToolCoordinator | undefined;

  constructor(options: BatchExecutorOptions) {
    const { coordinator: given, store, sizes } = options;
    let opening: Promise<ParallelToolCoordinator> | undefined;
    if (typeof given !== 'function') this.coordinator = given;
    const coordinator = async () => {
      opening ??= typeof given === 'function' ? given() : Promise.resolve(given);
      this.coordinator = await opening;
      return this.coordinator;
    };
    this.context = {
      coordinator,
      store,
      runs: new BatchRuns(coordinator, store, sizes),
      ids: new TaskIds(store),
    };
  }

  /**
   * Handles a request: an object or its JSON, bare or in an envelope. Never throws. What a model wrote slightly wrong is
   * done if it can mean only one thing; `data.understood` says what was changed.
   */
  handle(request: BatchRequest): Promise<BatchAnswer>;
  handle(request: unknown): Promise<BatchAnswer>;
  async handle(request: unknown): Promise<BatchAnswer> {
    try {
      const { action, args, understood } = readRequest(request);
      const [chosen, { readInput, withUnderstood }] = await Promise.all([
        definitionOf(action),
        import('../input/understand.ts'),
      ]);
      const input = readInput(chosen.schema, action, args);
      const result = await chosen.run(input.args, this.context);
      return withUnderstood({ ok: true, action, ...result }, [...understood, ...input.understood]);
    } catch (error) {
      return this.refusal(requestedAction(request), error);
    }
  }

  /**
   * Runs an action whose arguments are validated. Throws where {@link handle} answers with an error.
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

  /**
   * Continues a batch whose process has died, with the options of its start. `wait`: answers when it has ended.
   *
   * @internal
   */
  async takeOver(batch: string, wait: boolean): Promise<BatchAnswer> {
    const action = 'start';
    try {
      const { continueBatch } = await import('../actions/start.ts');
      return { ok: true, action, ...(await continueBatch(this.context, batch, wait)) };
    } catch (error) {
      return this.refusal(action, error);
    }
  }

  /**
   * Passes starts on to other servers.
   *
   * @internal
   */
  useServers(servers: OtherServers): void {
    this.context.servers = servers;
  }

  /**
   * Other servers continue what this one does not finish from now on.
   *
   * @internal
   */
  handOver(): void {
    this.context.runs.handOver();
  }

  /**
   * Ends all runs at once: other servers continue them.
   *
   * @internal
   */
  abandonAll(reason: VolleyError): Promise<void> {
    return this.context.runs.abandonAll(reason);
  }

  /** Answers `status` without loading its schema. It is the most frequent request of commands. */
  async status(batch: string, detailed: boolean): Promise<BatchAnswer> {
    const action = 'status';
    try {
      const { statusOf } = await import('../status.ts');
      return { ok: true, action, ...(await statusOf(this.context, batch, detailed)) };
    } catch (error) {
      return this.refusal(action, error);
    }
  }

  /**
   * Changes how many tasks of a batch that runs in this process may run at once.
   *
   * @internal
   */
  limitConcurrency(batch: string, max: number): void {
    this.context.runs.current(batch)?.limitConcurrency(max);
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
    return record && batchStanding(record, this.context);
  }

  /**
   * Returns the throughput, the predicted time left and the quotas that are used up, or undefined if the batch is not
   * running. Asks the process that runs the batch, and throws if that does not answer within `waitMs`.
   */
  async speed(
    batch: string,
    waitMs?: number,
  ): Promise<Pick<BatchView, 'ratePerSecond' | 'timeLeft' | 'pauses'> | undefined> {
    const { store, runs } = this.context;
    const run = runs.current(batch);
    if (run !== undefined) return run.speed();
    const record = await store.batch(batch);
    const holder = record && runs.otherHolder(record);
    if (holder === undefined) return undefined;
    const { askSpeed } = await import('../run/holder-requests.ts');
    return askSpeed(this.context, batch, holder, waitMs);
  }

  /** Returns snapshots of the batches created before the one with this number, newest first. */
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

  /**
   * Returns snapshots of the batches that pass, created before the one with this number, newest first, and where to go
   * on. The work is bounded, however rare they are: a page may be short, or empty, while there are more.
   *
   * @internal
   */
  async findViews(
    filter: BatchFilter,
    beforeNumber: number | undefined,
    limit: number,
  ): Promise<{ readonly views: readonly BatchView[]; readonly nextNumber: number | undefined }> {
    const { store } = this.context;
    const part = filter.search?.toLowerCase();
    const passes = (record: BatchRecord) =>
      (part === undefined || record.name.toLowerCase().includes(part)) &&
      (filter.phases === undefined || filter.phases.includes(phaseOf(batchStanding(record, this.context))));
    const found: BatchRecord[] = [];
    let place = beforeNumber;
    for (
      let inspected = 0;
      inspected < MAX_INSPECTED && found.length <= limit;
      inspected += INSPECTED_AT_ONCE
    ) {
      const records = await store.batchPage(place, INSPECTED_AT_ONCE);
      found.push(...records.filter(passes));
      place = records.length < INSPECTED_AT_ONCE ? undefined : records.at(-1)!.number;
      if (place === undefined) break;
    }
    const page = found.slice(0, limit);
    const views = await Promise.all(page.map((record) => viewOfRecord(record, this.context)));
    return { views, nextNumber: found.length > limit ? page.at(-1)!.number : place };
  }

  /** Returns the running attempt of a task, by the task's sequence number, if this process runs it. */
  running(batch: string, seq: number): RunningTask | undefined {
    return this.context.runs.current(batch)?.monitor.attemptOf(seq);
  }

  /** Returns why the last attempt failed and when the next one is due, while a task waits for a retry. */
  pause({
    batch,
    id,
    pause,
  }: TaskRecord): { readonly reason: FailureReason; readonly until: number } | undefined {
    const run = this.context.runs.current(batch);
    return run === undefined ? pause : run.tasks.get(id)?.pause;
  }

  /** Explains why a task is not running, or how it ended and what to do. Returns undefined while it runs. */
  explain(batch: string, id: string): Promise<string | undefined> {
    return explainTask(this.context, batch, id);
  }

  /** Reports how a task ended, or why it is not running. */
  report(batch: string, id: string): Promise<TaskReport> {
    return reportTask(this.context, batch, id);
  }

  /** Validates new and open tasks and returns what a start would run. Changes nothing. */
  async runnable(
    batch: string,
    tasks: readonly unknown[] = [],
    options: RunnableOptions = {},
  ): Promise<RunnableBatch> {
    const { runnableBatch } = await import('../forecast/runnable.ts');
    return runnableBatch(this.context, batch, tasks, options);
  }

  /**
   * Returns a check of tasks that are too many for one request.
   *
   * @internal
   */
  async largeCheck(batch: string): Promise<LargeCheck> {
    const { LargeCheck } = await import('../forecast/large-check.ts');
    return new LargeCheck(this.context, batch);
  }

  /** Calls the listener with every event of this executor. Returns a function that unsubscribes. */
  follow(listener: BatchEventListener): () => void {
    return this.context.runs.events.listen(listener);
  }

  /** Recovers the tasks of processes that died, in all batches that are not running. See {@link Recovery}. */
  recover(): Promise<Recovery> {
    return this.context.runs.recover();
  }

  /**
   * Starts no more tasks, lets running tasks finish, stores their results and releases all leases. Cancels tasks that
   * still run after `graceMs`; idempotent ones run again with the next start.
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
    // Without a coordinator no tool was called, so the message can only contain parts of the request.
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

/** How many batches a search inspects for a page, and how many at once. */
const MAX_INSPECTED = 2000;
const INSPECTED_AT_ONCE = 200;

/** Which batches to find. */
interface BatchFilter {
  /** Part of the name, in upper or lower case. */
  readonly search: string | undefined;
  readonly phases: readonly BatchPhase[] | undefined;
}

const MAX_ENTRIES = 20;

/** Truncates long lists in the details of an error, such as a cycle of thousands of tasks. */
function shortDetails(details: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(details).map(([name, value]) => [
      name,
      Array.isArray(value) && value.length > MAX_ENTRIES ? value.slice(0, MAX_ENTRIES) : value,
    ]),
  );
}
