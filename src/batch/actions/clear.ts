import { z } from 'zod';
import { VolleyError } from '../../core/errors.ts';
import { countText } from '../../core/words.ts';
import type { TaskStatus } from '../../store/records.ts';
import { type BatchContext, defineAction } from '../context.ts';
import { countsText, TASK_STATUSES } from '../counts.ts';
import { BATCH, STATUS_FILTER } from '../input/fields.ts';
import { taskPages } from '../pages.ts';

export const clearAction = defineAction({
  schema: z.strictObject({
    batch: BATCH,
    filter_status: STATUS_FILTER.optional().describe('Only tasks of these statuses.'),
  }),
  run: async ({ batch, filter_status: statuses }, context) => {
    const isWhole = statuses === undefined || statuses.length === TASK_STATUSES.length;
    if ((await context.store.batch(batch)) === undefined) {
      // Whoever clears first and begins then, in a script, is right each time.
      return {
        text: `There is no batch "${batch}": nothing was to be forgotten.`,
        data: { batch, cleared: 0 },
      };
    }
    checkNotRunning(context, batch, statuses ?? TASK_STATUSES);
    if (!isWhole) await checkNotNeeded(context, batch, new Set(statuses));
    const cleared = await context.store.clear(batch, isWhole ? undefined : statuses);
    if (isWhole) context.ids.forget(batch);
    const { events } = context.runs;
    if (events.isHeard) events.tell({ type: 'changed', batch, at: Date.now() });
    const counts = (await context.store.batch(batch))?.counts;
    return {
      text: `${countText(cleared, 'task')} of the batch "${batch}" forgotten${counts === undefined ? '' : `; it has ${countsText(counts)} left`}.`,
      data: { batch, cleared, ...(counts !== undefined && { counts }) },
    };
  },
});

function checkNotRunning({ runs }: BatchContext, batch: string, statuses: readonly TaskStatus[]): void {
  if (runs.joinable(batch) === undefined) return;
  if (!statuses.includes('open') && !statuses.includes('running')) return;
  throw new VolleyError(
    'BATCH_RUNNING',
    `The batch ${JSON.stringify(batch)} is running: stop it before you clear what has not ended, or clear only what has with "filter_status".`,
    { batch },
  );
}

/** Throws if something that may still run, now or after a retry, depends on what shall be cleared. */
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
        `The task ${JSON.stringify(needed)} cannot be cleared: ${JSON.stringify(id)} may still run and depends on it. Clear that one too, or the whole batch.`,
        { batch, id, needed },
      );
    }
  }
}
