import { z } from 'zod';
import { countsText } from '../../../batch/counts.ts';
import { checkInput } from '../../../batch/input/check.ts';
import { TASK_ID } from '../../../batch/input/fields.ts';
import { linesText } from '../../../batch/text.ts';
import { RESULT_ROW, resultRows } from '../result-rows.ts';
import type { McpTool } from '../tool.ts';
import { ask } from './ask.ts';
import { BATCH_NAME, COUNTS, MAX_CHARS, STATUSES } from './inputs.ts';

const MAX_SEQ = 2 ** 30 - 1;

const INPUT = z.strictObject({
  batch: BATCH_NAME.describe('The name of the batch.'),
  id: TASK_ID.optional().describe('One task: its result whole, or the part from "offset" on.'),
  offset: z.number().int().min(0).max(MAX_SEQ).default(0).describe('With id: where to begin, in bytes.'),
  status: STATUSES,
  limit: z.number().int().min(1).max(1000).default(100).describe('Tasks on a page. Default 100.'),
  cursor: z.number().int().min(0).max(MAX_SEQ).default(0).describe('The next_cursor of the page before.'),
  max_chars: MAX_CHARS,
});

const OUTPUT = z.looseObject({
  batch: z.string().optional(),
  counts: COUNTS.optional(),
  results: z.array(RESULT_ROW).optional(),
  next_cursor: z.number().optional(),
  result: z.unknown().optional().describe('With id: the result.'),
  part: z.string().optional().describe('With id: a part of its JSON text, where it is too long.'),
  next_offset: z.number().optional(),
});

export const batchResultsTool: McpTool = {
  name: 'batch_results',
  title: 'What came of a batch',
  description: `Returns the results of a batch in the order of its tasks, in pages; long ones are cut. With "id" it returns one of them whole, or from "offset" on.

Use it after a batch has ended, or for those that have ended so far; {"status": ["failed"]} shows only what failed and why. run_batch returns results by itself: no need to ask again unless some were cut.

Example: {"batch": "run-1f3a9c", "id": "readme"}`,
  input: INPUT,
  output: OUTPUT,
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  scopeOf: () => 'read',
  run: async (given, call) => {
    const input = checkInput(INPUT, 'batch_results', given ?? {});
    const { batch, id, offset, status, limit, cursor, max_chars: maxChars } = input;
    if (id !== undefined) {
      return ask(call, { action: 'results', batch, id, range: { offset, length: maxChars } });
    }
    const { data } = await ask(call, { action: 'status', batch });
    const { rows, text, next } = await resultRows(call.backend.store, batch, {
      status,
      afterSeq: cursor,
      limit,
      maxChars,
    });
    const counts = data['counts'] as Parameters<typeof countsText>[0];
    return {
      text: linesText(
        `The batch "${batch}" has ${countsText(counts)}.`,
        rows.length === 0 ? 'None of them is on this page.' : undefined,
        text === '' ? undefined : text,
        next === undefined ? undefined : `The next page has "cursor": ${next}.`,
      ),
      data: { batch, counts, results: rows, ...(next !== undefined && { next_cursor: next }) },
    };
  },
};
