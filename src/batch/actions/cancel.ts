import { z } from 'zod';
import { VolleyError } from '../../core/errors.ts';
import { countText } from '../../core/words.ts';
import type { TaskRecord } from '../../store/records.ts';
import { type BatchContext, defineAction, findBatch, findTask } from '../context.ts';
import { countsText } from '../counts.ts';
import { BATCH } from '../input/fields.ts';
import { IDS } from '../input/task-input.ts';

const REASON = 'cancelled by request';
const PAGE = 500;

export const cancelAction = defineAction({
  name: 'cancel',
  summary: 'ends tasks for good, whether they run or wait; what depends on them is skipped',
  schema: z.strictObject({
    batch: BATCH,
    ids: IDS,
    all: z.literal(true).optional().describe('All that has not ended.'),
  }),
  run: async ({ batch, ids, all }, context) => {
    if ((ids === undefined) === (all === undefined))
      throw new VolleyError('INVALID_REQUEST', 'Say which tasks: either "ids" or "all": true.');
    findBatch(context, batch);
    for (const id of ids ?? []) findTask(context, batch, id);
    const cancelled = await cancelTasks(context, batch, ids ?? 'all');
    const { counts } = findBatch(context, batch);
    return {
      text: `${countText(cancelled, 'task')} cancelled. The batch "${batch}" has ${countsText(counts)}.`,
      data: { batch, cancelled, counts },
    };
  },
});

async function cancelTasks(
  context: BatchContext,
  batch: string,
  ids: readonly string[] | 'all',
): Promise<number> {
  const run = context.runs.joinable(batch);
  if (run !== undefined) {
    const asked = await run.cancel(ids, REASON);
    return asked.filter(({ handle }) => handle.status === 'cancelled').length;
  }
  return context.runs.exclusively(batch, async () => {
    let total = 0;
    for (const page of openPages(context, batch, ids)) {
      await Promise.all(
        page.map(({ seq }) =>
          context.store.ended(batch, seq, { status: 'cancelled', message: REASON }, Date.now()),
        ),
      );
      total += page.length;
    }
    return total;
  });
}

function* openPages(
  { store }: BatchContext,
  batch: string,
  ids: readonly string[] | 'all',
): Generator<TaskRecord[], void, undefined> {
  if (ids !== 'all') {
    yield [...new Set(ids)]
      .flatMap((id) => store.task(batch, id) ?? [])
      .filter(({ status }) => status === 'open');
    return;
  }
  for (;;) {
    const page = store.tasks(batch, { status: ['open'], limit: PAGE });
    if (page.length === 0) return;
    yield page;
  }
}
