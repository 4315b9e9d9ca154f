import type { z } from 'zod';
import type { ParallelToolCoordinator } from '../coordinator/coordinator.ts';
import { VolleyError } from '../core/errors.ts';
import { nearest } from '../core/nearest.ts';
import type { BatchRecord, TaskRecord } from '../store/records.ts';
import type { Store, TaskSummary } from '../store/store.ts';
import type { ActionResult } from './answer.ts';
import type { BatchRuns } from './runs.ts';
import type { TaskIds } from './task-ids.ts';

/** What the actions work with. */
export interface BatchContext {
  /** Opened when something is checked or run for the first time: looking at batches needs none. */
  coordinator(): Promise<ParallelToolCoordinator>;
  readonly store: Store;
  readonly runs: BatchRuns;
  readonly ids: TaskIds;
}

/** One of the things that can be asked for. */
export interface Action {
  readonly schema: z.ZodType;
  /** `args` is what the schema gives back. */
  run(args: never, context: BatchContext): Promise<ActionResult>;
}

/** Ties the type of the arguments to the schema. */
export function defineAction<S extends z.ZodType>(action: {
  readonly schema: S;
  run(args: z.output<S>, context: BatchContext): Promise<ActionResult>;
}): Action {
  return action;
}

export async function findBatch({ store }: Pick<BatchContext, 'store'>, name: string): Promise<BatchRecord> {
  const found = await store.batch(name);
  if (found !== undefined) return found;
  throw await unknownBatch(store, name);
}

/** Says which one may have been meant. */
export async function unknownBatch(store: Pick<Store, 'batches'>, name: string): Promise<VolleyError> {
  const names = (await store.batches()).map((batch) => batch.name);
  const close = nearest(name, names);
  const hint =
    close !== undefined
      ? `did you mean ${JSON.stringify(close)}?`
      : names.length === 0
        ? 'there is none yet: add tasks first.'
        : `there are ${names
            .slice(0, 10)
            .map((other) => JSON.stringify(other))
            .join(', ')}${names.length > 10 ? ', …' : ''}.`;
  return new VolleyError('UNKNOWN_BATCH', `There is no batch ${JSON.stringify(name)}; ${hint}`, {
    batch: name,
    nearest: close,
  });
}

/** How many ids are looked at for one that was meant. */
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

/** The same of many. Throws for the first that does not exist. */
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
    `The batch ${JSON.stringify(batch)} has no task ${JSON.stringify(id)}${close === undefined ? '.' : `; did you mean ${JSON.stringify(close)}?`}`,
    { batch, id, nearest: close },
  );
}
