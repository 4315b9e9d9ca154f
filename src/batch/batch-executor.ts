import type { ParallelToolCoordinator } from '../coordinator/coordinator.ts';
import { VolleyError } from '../core/errors.ts';
import { reasonText } from '../core/words.ts';
import type { Recovery, Store } from '../store/store.ts';
import { ACTIONS } from './actions/all.ts';
import type { BatchAnswer } from './answer.ts';
import type { BatchContext } from './context.ts';
import { checkInput } from './input/check.ts';
import { actionOf, readRequest } from './input/request.ts';
import type { BatchListener } from './run/monitor.ts';
import { BatchRuns } from './runs.ts';
import { TaskIds } from './task-ids.ts';
import { type BatchView, viewOf } from './view.ts';

/** What an executor works with. */
export interface BatchExecutorOptions {
  /** Runs the calls. It stays open when the executor is closed. */
  readonly coordinator: ParallelToolCoordinator;
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

  constructor({ coordinator, store }: BatchExecutorOptions) {
    this.context = {
      coordinator,
      store,
      runs: new BatchRuns(coordinator, store),
      ids: new TaskIds(store),
    };
  }

  /** Does what a request asks for: an object or JSON text, bare or in an envelope. It never throws. */
  async handle(request: unknown): Promise<BatchAnswer> {
    try {
      const { action, args } = readRequest(request, NAMES);
      const chosen = ACTIONS.find(({ name }) => name === action)!;
      const result = await chosen.run(checkInput(chosen.schema, action, args) as never, this.context);
      return { ok: true, action, ...result };
    } catch (error) {
      return this.refusal(actionOf(request), error);
    }
  }

  /** How a batch stands now. It costs the same however large the batch is. */
  view(batch = 'default'): BatchView | undefined {
    const { store, runs } = this.context;
    const record = store.batch(batch);
    return record && viewOf(record, runs);
  }

  /** Tells of every end as it comes, of all batches that this executor runs. The answer takes the listener away. */
  watch(listener: BatchListener): () => void {
    const { listeners } = this.context.runs;
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
    };
  }

  /** Settles tasks of processes that died, of all batches that nobody runs: see {@link Recovery}. */
  recover(): Promise<Recovery> {
    const { store, runs } = this.context;
    return store.recover(runs.isIdempotent());
  }

  /** Starts nothing more, lets what runs finish, writes everything down and gives back every lease. */
  close(): Promise<void> {
    return this.context.runs.close();
  }

  /** The same as {@link close}. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  private refusal(action: string, thrown: unknown): BatchAnswer {
    const { redactor } = this.context.coordinator.desk;
    const code = thrown instanceof VolleyError ? thrown.code : 'INTERNAL';
    const message = redactor.text(reasonText(thrown));
    const details = thrown instanceof VolleyError ? thrown.details : {};
    return { ok: false, action, text: message, data: { code, ...details }, error: { code, message } };
  }
}
