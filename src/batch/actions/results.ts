import { z } from 'zod';
import { defineAction, findBatch, findTask } from '../context.ts';
import { BATCH, STATUS_FILTER, TASK_ID } from '../input/fields.ts';
import { oneResult } from '../one-result.ts';
import { resultsPage } from '../results-page.ts';
import { summaryOf } from '../results-summary.ts';

const MAX_ON_A_PAGE = 1000;
const MAX_BYTES = 2 ** 20;
const MAX_SEQ = 2 ** 30 - 1;

export const resultsAction = defineAction({
  schema: z.strictObject({
    batch: BATCH,
    format: z
      .enum(['summary', 'detailed', 'json'])
      .default('summary')
      .describe('summary: counts, causes, slowest, first results; detailed and json: a page of tasks.'),
    filter_status: STATUS_FILTER.optional().describe(
      'Only tasks of these statuses. Default: all that ended.',
    ),
    limit: z.number().int().min(1).max(MAX_ON_A_PAGE).default(20).describe('Tasks on a page.'),
    offset: z.number().int().min(0).max(MAX_SEQ).default(0).describe('Tasks to pass over.'),
    cursor: z.number().int().min(0).max(MAX_SEQ).default(0).describe('The next_cursor of the page before.'),
    id: TASK_ID.optional().describe('One task, with its result.'),
    range: z
      .strictObject({
        offset: z.number().int().min(0).default(0),
        length: z.number().int().min(1).max(MAX_BYTES).default(65_536),
      })
      .optional()
      .describe('With id: a part of the result as JSON text, in bytes.'),
  }),
  run: async ({ batch, format, filter_status: status, limit, offset, cursor, id, range }, context) => {
    const { counts } = await findBatch(context, batch);
    if (id !== undefined) return oneResult(context.store, await findTask(context, batch, id), range);
    if (format === 'summary') return summaryOf(context.store, batch, counts, status);
    return resultsPage(context.store, batch, { status, limit, offset, cursor }, format);
  },
});
