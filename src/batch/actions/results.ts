import { z } from 'zod';
import { findBatch, findTask } from '../context.ts';
import { BATCH, STATUS_FILTER, TASK_ID } from '../input/fields.ts';
import { oneResult, resultsPage } from '../results-page.ts';
import { summaryOf } from '../results-summary.ts';
import { defineAction } from './define-action.ts';

const MAX_ON_A_PAGE = 1000;
const MAX_BYTES = 2 ** 20;
const MAX_SEQ = 2 ** 30 - 1;

export const resultsAction = defineAction({
  name: 'results',
  order: 110,
  summary: 'Read results: a summary, a page of tasks, or all or part of one result',
  scope: 'read',
  hints: { readOnly: true },
  schema: z.strictObject({
    batch: BATCH,
    format: z
      .enum(['summary', 'detailed', 'json'])
      .default('summary')
      .describe('summary: counts, causes, slowest, first results; detailed and json: a page of tasks.'),
    filter_status: STATUS_FILTER.optional().describe(
      'Only tasks with these statuses. Default: all that ended.',
    ),
    group: TASK_ID.optional().describe('Only the items of this group.'),
    limit: z.number().int().min(1).max(MAX_ON_A_PAGE).default(20).describe('Tasks per page.'),
    offset: z.number().int().min(0).max(MAX_SEQ).default(0).describe('Tasks to skip.'),
    cursor: z.number().int().min(0).max(MAX_SEQ).default(0).describe('The next_cursor of the previous page.'),
    id: TASK_ID.optional().describe('One task, with its result.'),
    range: z
      .strictObject({
        offset: z.number().int().min(0).default(0),
        length: z.number().int().min(1).max(MAX_BYTES).default(65_536),
      })
      .optional()
      .describe('With id: a part of the result as JSON text, in bytes.'),
  }),
  http: {
    method: 'get',
    path: '/v1/batches/{batch}/results',
    operationId: 'getBatchResults',
    names: { filter_status: 'status' },
    without: ['offset', 'id', 'range'],
  },
  cli: {
    group: 'look',
    summary: 'Show the results of a batch, or one full result',
    examples: [
      'volley results --format summary',
      'volley results --format detailed --filter-status failed',
      'volley results --group read',
      'volley results --id analyze-3',
      'volley results --id analyze-3 --offset 65536',
    ],
    options: {
      offset: false,
      cursor: { flags: '--after <number>', help: 'continue after this task' },
      'range.offset': { flags: '--offset <bytes>', help: 'with --id: where to begin' },
      'range.length': { flags: '--length <bytes>', help: 'with --id: how much' },
    },
  },
  run: async (
    { batch, format, filter_status: status, group: groupId, limit, offset, cursor, id, range },
    context,
  ) => {
    const record = await findBatch(context, batch);
    if (id !== undefined) return oneResult(context.store, await findTask(context, batch, id), range);
    const group = groupId === undefined ? undefined : await findTask(context, batch, groupId);
    // A summary of one group is its list of items.
    if (format === 'summary' && group === undefined) return summaryOf(context.store, record, status);
    const page = { status, group, limit, offset, cursor };
    return resultsPage(context.store, batch, page, format === 'summary' ? 'detailed' : format);
  },
});
