import { z } from 'zod';
import { VolleyError } from '../../core/errors.ts';
import { countText } from '../../core/words.ts';
import type { TaskSummary } from '../../store/store.ts';
import { type BatchContext, findBatch, findTasks, taskPages } from '../context.ts';
import { countsText } from '../counts.ts';
import { refuseFeatureBatch } from '../feature-task.ts';
import { BATCH, IDS } from '../input/fields.ts';
import { joinRun } from '../join-run.ts';
import { publishChange } from '../run/events.ts';
import { linesText } from '../text.ts';
import { defineAction } from './define-action.ts';

export const retryAction = defineAction({
  name: 'retry',
  order: 40,
  summary: 'Reopen failed, cancelled and skipped tasks; completed tasks keep their results',
  scope: 'run',
  hints: { askHolder: true },
  schema: z.strictObject({
    batch: BATCH,
    ids: IDS,
    all: z.literal(true).optional().describe('All of them; this is the default.'),
  }),
  http: { method: 'post', path: '/v1/batches/{batch}/retry', operationId: 'retryBatch' },
  cli: {
    group: 'run',
    summary: 'Reopen failed, cancelled and skipped tasks',
    examples: ['volley retry && volley start', 'volley retry --ids analyze-3'],
    options: { all: false },
  },
  run: async ({ batch, ids, all }, context) => {
    if (ids !== undefined && all !== undefined)
      throw new VolleyError('INVALID_REQUEST', 'Pass either "ids" or "all", not both.');
    await findBatch(context, batch);
    await refuseFeatureBatch(context.store, batch);
    const chosen = ids && (await withSkipped(context, batch, ids));
    const reopened = await context.store.reopen(batch, chosen);
    // With a group or an item, others were reopened, too.
    const known = reopened === chosen?.length ? chosen : undefined;
    await publishChange(context.runs.events, context.store, batch, known, 'opened');
    const joined = await joinRun(context, batch, 'all');
    return {
      text: linesText(
        reopened === 0
          ? 'Nothing to retry: no tasks failed, were cancelled or were skipped, apart from those that their group handled.'
          : `Reopened ${countText(reopened, 'task')} of the batch "${batch}".`,
        // Then there is nothing for a running batch to take.
        reopened === 0 && joined.state !== 'idle' ? `It has ${countsText(joined.counts)}.` : joined.text,
      ),
      data: { batch, reopened, counts: joined.counts, state: joined.state },
    };
  },
});

/** Returns the ids, and those of the tasks that were skipped because of them. */
async function withSkipped(context: BatchContext, batch: string, ids: readonly string[]): Promise<string[]> {
  const tasks = await findTasks(context, batch, ids);
  for (const [id, { status }] of tasks) {
    if (status === 'failed' || status === 'cancelled' || status === 'skipped') continue;
    throw new VolleyError(
      'INVALID_REQUEST',
      `The task ${JSON.stringify(id)} is ${status}. Only failed, cancelled and skipped tasks can be retried. Nothing was changed.`,
      { batch, id, status },
    );
  }
  const found = new Set(ids);
  // An item is retried together with its group.
  const causes = new Set([...ids, ...items(tasks.values()).map(groupId)]);
  for await (const page of taskPages(context.store, batch, ['skipped'])) {
    for (const { id, cause } of page) {
      if (cause === undefined || !causes.has(cause)) continue;
      found.add(id);
      causes.add(id);
    }
  }
  return [...found];
}

function items(tasks: Iterable<TaskSummary>): TaskSummary[] {
  return [...tasks].filter(({ groupSeq }) => groupSeq !== undefined);
}

function groupId({ id }: TaskSummary): string {
  return id.slice(0, id.lastIndexOf('['));
}
