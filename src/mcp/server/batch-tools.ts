import { z } from 'zod';
import { countsText } from '../../batch/counts.ts';
import { hintText } from '../../batch/hints.ts';
import { TASK_ID } from '../../batch/input/fields.ts';
import { linesText } from '../../batch/text.ts';
import { TASK_STATUSES } from '../../store/records.ts';
import { attachmentsOf, MANY } from './attachments.ts';
import { RESULT_ROW, resultRows } from './result-rows.ts';
import { BATCH_NAME, COUNTS, defineServedTool, MAX_CHARS, READS, WAIT_SECONDS } from './tool.ts';
import { waitForEnd } from './wait-for-end.ts';

const MAX_SEQ = 2 ** 30 - 1;

export const batchStatusTool = defineServedTool({
  name: 'batch_status',
  title: 'Status of a batch',
  description: `Returns the progress of a batch: counts, rate, time left, running tasks, last failures, and why tasks wait. Without "batch" it lists all batches.

Use it after run_batch returned "running", or after batch_executor_tool started a batch. "wait" returns as soon as the batch ends, or after that many seconds: use it instead of polling.
To read results, use batch_results.

Example: {"batch": "run-1f3a9c", "wait": 50}`,
  input: z.strictObject({
    batch: BATCH_NAME.optional().describe('The name of the batch. Default: list all batches.'),
    detailed: z.boolean().default(false).describe('Show more running, failed and waiting tasks.'),
    wait: WAIT_SECONDS.default(0).describe('Seconds to wait for the batch to end.'),
  }),
  output: z.looseObject({
    batch: z.string().optional(),
    state: z
      .string()
      .optional()
      .describe('idle (not running, or ended), running, stopping, or elsewhere (another process runs it).'),
    counts: COUNTS.optional().describe('How many tasks have each status.'),
    percent: z.number().optional(),
    batches: z.array(z.looseObject({})).optional().describe('Without "batch": all of them.'),
  }),
  annotations: READS,
  scope: 'read',
  run: async ({ batch, detailed, wait }, call) => {
    const { executor, store } = call.backend;
    if (batch === undefined) return executor.perform('list', {});
    if (wait > 0 && (await store.batch(batch)) !== undefined) await waitForEnd(call, batch, wait);
    return executor.perform('status', { batch, detailed });
  },
});

export const batchResultsTool = defineServedTool({
  name: 'batch_results',
  title: 'Results of a batch',
  description: `Returns the results of a batch in task order, page by page. Long results are truncated. With "id" it returns one result in full, or from "offset".

Use it after a batch has ended, or for the tasks that have ended so far. {"status": ["failed"]} shows only failures and their reasons. run_batch returns results itself: use this only for truncated ones.

Example: {"batch": "run-1f3a9c", "id": "readme"}`,
  input: z.strictObject({
    batch: BATCH_NAME.describe('The name of the batch.'),
    id: TASK_ID.optional().describe('One task: its full result, or the part from "offset".'),
    offset: z.number().int().min(0).max(MAX_SEQ).default(0).describe('With id: where to start, in bytes.'),
    status: z
      .array(z.enum(TASK_STATUSES))
      .min(1)
      .optional()
      .describe('Only tasks with these statuses. Default: all that ended.'),
    limit: z.number().int().min(1).max(1000).default(100).describe('Tasks on a page. Default 100.'),
    cursor: z.number().int().min(0).max(MAX_SEQ).default(0).describe('The next_cursor of the previous page.'),
    max_chars: MAX_CHARS,
  }),
  output: z.looseObject({
    batch: z.string().optional(),
    counts: COUNTS.optional(),
    results: z.array(RESULT_ROW).optional(),
    next_cursor: z.number().optional(),
    result: z.unknown().optional().describe('With id: the result.'),
    part: z.string().optional().describe('With id: a part of its JSON, if it is too long.'),
    next_offset: z.number().optional(),
  }),
  annotations: READS,
  scope: 'read',
  run: async ({ batch, id, offset, status, limit, cursor, max_chars: maxChars }, { backend }) => {
    const { executor, store } = backend;
    if (id !== undefined) {
      const range = { offset, length: maxChars };
      const answer = await executor.perform('results', {
        batch,
        id,
        range,
        format: 'summary',
        limit,
        offset: 0,
        cursor: 0,
      });
      const { content, note } = await attachmentsOf(store, batch, [[id, answer.data['result']]], MANY);
      return { ...answer, text: linesText(answer.text, note), content };
    }
    const { data } = await executor.perform('status', { batch, detailed: false });
    const { rows, text, content, next } = await resultRows(store, batch, {
      status,
      afterSeq: cursor,
      limit,
      maxChars,
    });
    const counts = data['counts'] as Parameters<typeof countsText>[0];
    return {
      text: linesText(
        `The batch "${batch}" has ${countsText(counts)}.`,
        rows.length === 0 ? 'No tasks on this page.' : undefined,
        text === '' ? undefined : text,
        next === undefined ? undefined : hintText('nextPage', next),
      ),
      content,
      data: { batch, counts, results: rows, ...(next !== undefined && { next_cursor: next }) },
    };
  },
});
