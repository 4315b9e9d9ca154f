import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ParallelToolCoordinator } from '../coordinator/coordinator.ts';
import { VolleyError } from '../core/errors.ts';
import { nearest } from '../core/nearest.ts';
import type { BatchRecord, TaskRecord, TaskStatus } from '../store/records.ts';
import type { Store, TaskSummary } from '../store/store.ts';
import type { ActionResult } from './answer.ts';
import type { BatchRuns } from './run/runs.ts';
import type { TaskIds } from './task-ids.ts';

/** The parts that actions use. */
export interface BatchContext {
  /** Opened when something is first validated or run. Reading batches does not need it. */
  coordinator(): Promise<ParallelToolCoordinator>;
  readonly store: Store;
  readonly runs: BatchRuns;
  readonly ids: TaskIds;
  /** The servers on this store, if this process is one of them. */
  servers?: OtherServers | undefined;
}

/** What a process passes on to the server that runs the batches. */
export interface OtherServers {
  /** Passes a start on. Returns undefined if this process is to do it. */
  start(args: { readonly batch: string }): Promise<ActionResult | undefined>;
}

export async function findBatch({ store }: Pick<BatchContext, 'store'>, name: string): Promise<BatchRecord> {
  const found = await store.batch(name);
  if (found !== undefined) return found;
  throw await unknownBatchError(store, name);
}

/** Suggests the batch that was probably meant. */
export async function unknownBatchError(store: Pick<Store, 'batches'>, name: string): Promise<VolleyError> {
  const names = (await store.batches()).map((batch) => batch.name);
  const close = nearest(name, names);
  const hint =
    close !== undefined
      ? `Did you mean ${JSON.stringify(close)}?`
      : names.length === 0
        ? 'There are no batches yet.'
        : `Batches: ${names
            .slice(0, 10)
            .map((other) => JSON.stringify(other))
            .join(', ')}${names.length > 10 ? ', …' : ''}.`;
  return new VolleyError('UNKNOWN_BATCH', `There is no batch ${JSON.stringify(name)}. ${hint}`, {
    batch: name,
    nearest: close,
  });
}

/** How many ids are compared for a suggestion. */
const MAX_COMPARED = 1000;

export async function findTask(
  { store }: Pick<BatchContext, 'store'>,
  batch: string,
  id: string,
): Promise<TaskRecord> {
  const found = await store.task(batch, id);
  if (found !== undefined) return found;
  throw await unknownTask(store, batch, id);
}

/** Returns tasks by id. Throws for the first that does not exist. */
export async function findTasks(
  { store }: Pick<BatchContext, 'store'>,
  batch: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, TaskSummary>> {
  const found = await store.tasksById(batch, ids);
  const missing = ids.find((id) => !found.has(id));
  if (missing === undefined) return found;
  throw await unknownTask(store, batch, missing);
}

async function unknownTask(store: Pick<Store, 'tasks'>, batch: string, id: string): Promise<VolleyError> {
  const some = await store.tasks(batch, { limit: MAX_COMPARED });
  const close = nearest(
    id,
    some.map((task) => task.id),
  );
  return new VolleyError(
    'UNKNOWN_TASK',
    `The batch ${JSON.stringify(batch)} has no task ${JSON.stringify(id)}${close === undefined ? '.' : `. Did you mean ${JSON.stringify(close)}?`}`,
    { batch, id, nearest: close },
  );
}

const PAGE = 500;

/** Yields the tasks of a batch after a number, page by page. The event loop gets a break after each. */
export async function* taskPages(
  store: Store,
  batch: string,
  status?: readonly TaskStatus[],
  afterSeq = 0,
): AsyncGenerator<TaskRecord[], void, undefined> {
  for (; ; await nextTurn()) {
    const page = await store.tasks(batch, { ...(status && { status }), afterSeq, limit: PAGE });
    if (page.length > 0) yield page;
    if (page.length < PAGE) return;
    afterSeq = page.at(-1)!.seq;
  }
}
