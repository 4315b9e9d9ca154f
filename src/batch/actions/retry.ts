import { z } from 'zod';
import { VolleyError } from '../../core/errors.ts';
import { countText } from '../../core/words.ts';
import { type BatchContext, defineAction, findBatch, findTasks } from '../context.ts';
import { countsText } from '../counts.ts';
import { BATCH } from '../input/fields.ts';
import { IDS } from '../input/task-input.ts';
import { joinRun } from '../join-run.ts';
import { taskPages } from '../pages.ts';
import { tellChanges } from '../tell-changes.ts';
import { linesText } from '../text.ts';

export const retryAction = defineAction({
  schema: z.strictObject({
    batch: BATCH,
    ids: IDS,
    all: z.literal(true).optional().describe('All of them; this is the default.'),
  }),
  run: async ({ batch, ids, all }, context) => {
    if (ids !== undefined && all !== undefined)
      throw new VolleyError('INVALID_REQUEST', 'Say which tasks: "ids" or "all": true, not both.');
    await findBatch(context, batch);
    const chosen = ids && (await withSkipped(context, batch, ids));
    const reopened = await context.store.reopen(batch, chosen);
    await tellChanges(context.runs.events, context.store, { batch, ids: chosen, type: 'opened' });
    const joined = await joinRun(context, batch, 'all');
    return {
      text: linesText(
        reopened === 0
          ? 'There is nothing to try again: nothing failed, was cancelled or was skipped.'
          : `${countText(reopened, 'task')} of the batch "${batch}" opened again.`,
        // Whoever runs the batch has nothing to take, then.
        reopened === 0 && joined.state !== 'idle' ? `It has ${countsText(joined.counts)}.` : joined.text,
      ),
      data: { batch, reopened, counts: joined.counts, state: joined.state },
    };
  },
});

/** The ids, and those of the tasks that were skipped because of them. */
async function withSkipped(context: BatchContext, batch: string, ids: readonly string[]): Promise<string[]> {
  const tasks = await findTasks(context, batch, ids);
  for (const [id, { status }] of tasks) {
    if (status === 'failed' || status === 'cancelled' || status === 'skipped') continue;
    throw new VolleyError(
      'INVALID_REQUEST',
      `The task ${JSON.stringify(id)} is ${status}: only what failed, was cancelled or was skipped can be tried again. Nothing was changed.`,
      { batch, id, status },
    );
  }
  const found = new Set(ids);
  for await (const page of taskPages(context.store, batch, ['skipped']))
    for (const { id, cause } of page) if (cause !== undefined && found.has(cause)) found.add(id);
  return [...found];
}
