import { z } from 'zod';
import { defineAction, findBatch } from '../context.ts';
import { BATCH } from '../input/fields.ts';
import { problemText } from '../names.ts';
import { statusData, statusText } from '../status-text.ts';
import { linesText } from '../text.ts';
import { viewOf } from '../view.ts';

const MOST_EXPLAINED = 5;

export const statusAction = defineAction({
  name: 'status',
  summary: 'how far a batch has come: counts, rate, time left, what runs, what failed, what waits and why',
  schema: z.strictObject({
    batch: BATCH,
    detailed: z.boolean().default(false).describe('More of what runs, failed and waits.'),
  }),
  run: async ({ batch, detailed }, context) => {
    const run = context.runs.current(batch);
    const view = viewOf(findBatch(context, batch), context.runs);
    const waiting = run?.explainWaiting(detailed ? MOST_EXPLAINED : 1) ?? [];
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
