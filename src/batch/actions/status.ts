import { z } from 'zod';
import { type BatchContext, defineAction, findBatch } from '../context.ts';
import { explainTask } from '../explain-task.ts';
import { BATCH } from '../input/fields.ts';
import { problemText } from '../names.ts';
import { statusData, statusText, type WaitingTask } from '../status-text.ts';
import { linesText } from '../text.ts';
import { viewOf } from '../view.ts';

const MOST_EXPLAINED = 5;

export const statusAction = defineAction({
  schema: z.strictObject({
    batch: BATCH,
    detailed: z.boolean().default(false).describe('More of what runs, failed and waits.'),
  }),
  run: async ({ batch, detailed }, context) => {
    const run = context.runs.current(batch);
    const view = viewOf(findBatch(context, batch), context);
    const waiting =
      run?.explainWaiting(detailed ? MOST_EXPLAINED : 1) ??
      (view.state === 'elsewhere' && detailed ? waitingElsewhere(context, batch) : []);
    const problem = run === undefined ? context.runs.problemOf(batch) : undefined;
    return {
      text: linesText(
        statusText(view, waiting, detailed),
        problem === undefined ? undefined : problemText(problem),
      ),
      data: {
        ...statusData(view, waiting, detailed),
        ...(problem !== undefined && { problem: problemText(problem) }),
      },
    };
  },
});

/** The first ones of those that another process has not come to, as far as the store tells. */
function waitingElsewhere(context: BatchContext, batch: string): WaitingTask[] {
  return context.store
    .tasks(batch, { status: ['open'], limit: MOST_EXPLAINED })
    .map(({ id }) => ({ id, text: explainTask(context, batch, id) ?? '' }))
    .filter(({ text }) => text !== '');
}
