import { z } from 'zod';
import { VolleyError } from '../../core/errors.ts';
import { countText } from '../../core/words.ts';
import { TASK_STATUSES, type TaskStatus } from '../../store/records.ts';
import type { BatchContext } from '../context.ts';
import { taskPages, unknownBatchError } from '../context.ts';
import { countsText } from '../counts.ts';
import { BATCH, STATUS_FILTER } from '../input/fields.ts';
import { defineAction } from './define-action.ts';

export const clearAction = defineAction({
  name: 'clear',
  order: 70,
  summary: 'Delete a batch with all its results, or only tasks with certain statuses',
  scope: 'admin',
  hints: { destructive: true },
  schema: z.strictObject({
    batch: BATCH,
    filter_status: STATUS_FILTER.optional().describe('Only tasks with these statuses. Default: all.'),
  }),
  http: {
    method: 'post',
    path: '/v1/batches/{batch}/clear',
    operationId: 'clearBatch',
    names: { filter_status: 'status' },
  },
  cli: {
    group: 'run',
    examples: ['volley clear', 'volley clear --batch audit --filter-status completed'],
  },
  run: async ({ batch, filter_status: statuses }, context) => {
    const isWhole = statuses === undefined || statuses.length === TASK_STATUSES.length;
    if ((await context.store.batch(batch)) === undefined) {
      // Not an error, so that a script can begin by clearing.
      const { message } = await unknownBatchError(context.store, batch);
      return {
        text: `Nothing to clear. ${message}`,
        data: { batch, cleared: 0 },
      };
    }
    checkNotRunning(context, batch, statuses ?? TASK_STATUSES);
    if (!isWhole) await checkNotNeeded(context, batch, new Set(statuses));
    const cleared = await context.store.clear(batch, isWhole ? undefined : statuses);
    if (isWhole) context.ids.forget(batch);
    const { events } = context.runs;
    if (events.hasListeners) events.publish({ type: 'changed', batch, at: Date.now() });
    const counts = (await context.store.batch(batch))?.counts;
    return {
      text: `Cleared ${countText(cleared, 'task')} of the batch "${batch}"${counts === undefined ? '' : `; it still has ${countsText(counts)}`}.`,
      data: { batch, cleared, ...(counts !== undefined && { counts }) },
    };
  },
});

function checkNotRunning({ runs }: BatchContext, batch: string, statuses: readonly TaskStatus[]): void {
  if (runs.joinable(batch) === undefined) return;
  if (!statuses.includes('open') && !statuses.includes('running')) return;
  throw new VolleyError(
    'BATCH_RUNNING',
    `The batch ${JSON.stringify(batch)} is running. Stop it before clearing tasks that have not ended, or clear only ended ones with "filter_status".`,
    { batch },
  );
}

/** Throws if a task that may still run, now or after a retry, depends on a task to be cleared. */
async function checkNotNeeded(
  { store }: BatchContext,
  batch: string,
  cleared: ReadonlySet<TaskStatus>,
): Promise<void> {
  const left = TASK_STATUSES.filter((status) => status !== 'completed' && !cleared.has(status));
  for await (const page of taskPages(store, batch, left)) {
    const others = await store.tasksById(
      batch,
      new Set(page.flatMap(({ options }) => options.dependsOn ?? [])),
    );
    for (const { id, options } of page) {
      const needed = options.dependsOn?.find((other) => {
        const status = others.get(other)?.status;
        return status !== undefined && cleared.has(status);
      });
      if (needed === undefined) continue;
      throw new VolleyError(
        'INVALID_REQUEST',
        `Task ${JSON.stringify(needed)} cannot be cleared because ${JSON.stringify(id)}, which may still run, depends on it. Clear both, or the whole batch.`,
        { batch, id, needed },
      );
    }
  }
}
