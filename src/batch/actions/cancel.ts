import { z } from 'zod';
import { VolleyError } from '../../core/errors.ts';
import { countText } from '../../core/words.ts';
import { type BatchContext, findBatch, findTasks } from '../context.ts';
import { countsText } from '../counts.ts';
import { BATCH, IDS } from '../input/fields.ts';
import { publishChange } from '../run/events.ts';
import { askHolder, CANCEL_REASON } from '../run/holder-requests.ts';
import { defineAction } from './define-action.ts';

export const cancelAction = defineAction({
  name: 'cancel',
  order: 60,
  summary: 'Cancel tasks for good, running or waiting; tasks that depend on them are skipped',
  scope: 'run',
  hints: { destructive: true, askHolder: true },
  schema: z.strictObject({
    batch: BATCH,
    ids: IDS,
    all: z.literal(true).optional().describe('All tasks that have not ended.'),
  }),
  http: {
    method: 'post',
    path: '/v1/batches/{batch}/cancel',
    operationId: 'cancelBatch',
    otherwise: { unless: 'ids', fields: { all: true } },
  },
  cli: {
    group: 'run',
    summary: 'Cancel tasks in a batch',
    examples: ['volley cancel analyze-3 analyze-4 --batch audit', 'volley cancel --batch audit --all'],
    argument: 'ids',
  },
  run: async ({ batch, ids, all }, context) => {
    if ((ids === undefined) === (all === undefined))
      throw new VolleyError('INVALID_REQUEST', 'Name the tasks ("ids"), or cancel all of them ("all").');
    await findBatch(context, batch);
    if (ids !== undefined) await findTasks(context, batch, ids);
    const cancelled = await cancelTasks(context, batch, ids ?? 'all');
    const { counts } = await findBatch(context, batch);
    return {
      text: `Cancelled ${countText(cancelled, 'task')}. The batch "${batch}" has ${countsText(counts)}.`,
      data: { batch, cancelled, counts },
    };
  },
});

async function cancelTasks(
  context: BatchContext,
  batch: string,
  ids: readonly string[] | 'all',
): Promise<number> {
  const record = await findBatch(context, batch);
  // No await between this check and its use: the batch may be started at any time.
  const run = context.runs.joinable(batch);
  if (run !== undefined) return run.cancel(ids, CANCEL_REASON);
  const holder = context.runs.otherHolder(record);
  if (holder !== undefined) {
    const ask = { action: 'cancel', ...(ids !== 'all' && { ids }) } as const;
    const cancelled = await askHolder(context, batch, holder, ask);
    if (cancelled !== undefined) return cancelled;
  }
  return context.runs.whileIdle(batch, async () => {
    const { store, runs } = context;
    const open = ids === 'all' ? undefined : await openOf(context, batch, ids);
    const cancelled = await store.cancel(batch, CANCEL_REASON, open);
    // With a group, its items were cancelled, too.
    const known = cancelled === open?.length ? open : undefined;
    await publishChange(runs.events, store, batch, known, 'cancelled');
    return cancelled;
  });
}

async function openOf({ store }: BatchContext, batch: string, ids: readonly string[]): Promise<string[]> {
  const found = await store.tasksById(batch, new Set(ids));
  return [...found.values()].filter(({ status }) => status === 'open').map(({ id }) => id);
}
