import { z } from 'zod';
import { countsText, type TaskCounts } from '../../batch/counts.ts';
import { hintsIn, hintText } from '../../batch/hints.ts';
import { TASK_ID } from '../../batch/input/fields.ts';
import { linesText } from '../../batch/text.ts';
import { TASK_STATUSES } from '../../store/records.ts';
import { attachmentsOf, MANY } from './attachments.ts';
import { DATA_NOTE, RESULT_ROW, resultRows } from './result-rows.ts';
import { valueAnswer, waitHint } from './run-tasks.ts';
import {
  BATCH_NAME,
  defineServedTool,
  MAX_CHARS,
  READS,
  STATUS_COUNTS,
  type ToolAnswer,
  WAIT_SECONDS,
} from './tool.ts';
import { waitForEnd } from './wait-for-end.ts';

const MAX_SEQ = 2 ** 30 - 1;

export const batchStatusTool = defineServedTool({
  name: 'batch_status',
  title: 'Status of a batch',
  description:
    'Shows the progress of a batch: counts, time left, what runs, failed and waits. Without "batch" it lists all batches.',
  input: z.strictObject({
    batch: BATCH_NAME.optional(),
    detailed: z.boolean().default(false),
    wait: WAIT_SECONDS.default(0).describe('Seconds to wait for the end.'),
  }),
  output: z.looseObject({
    batch: z.string().optional(),
    state: z
      .string()
      .optional()
      .describe('idle (not running, or ended), running, stopping, or elsewhere (another process runs it).'),
    counts: STATUS_COUNTS.optional().describe('How many tasks have each status.'),
    percent: z.number().optional(),
    batches: z.array(z.looseObject({})).optional().describe('Without "batch": all of them.'),
    hints: z.array(z.string()).optional().describe('What to do next.'),
  }),
  annotations: READS,
  scope: 'read',
  run: async ({ batch, detailed, wait }, call) => {
    const { executor, store } = call.backend;
    if (batch === undefined) return executor.perform('list', {});
    if (wait > 0 && (await store.batch(batch)) !== undefined) await waitForEnd(call, batch, wait);
    return withHints(await executor.perform('status', { batch, detailed }));
  },
});

export const batchResultsTool = defineServedTool({
  name: 'batch_results',
  title: 'Results of a batch',
  description:
    'Returns the results of a batch, or one in full by "id": after "running", or if they were truncated.',
  input: z.strictObject({
    batch: BATCH_NAME,
    id: TASK_ID.optional(),
    offset: z.number().int().min(0).max(MAX_SEQ).default(0).describe('With id: first byte.'),
    status: z.array(z.enum(TASK_STATUSES)).min(1).optional(),
    limit: z.number().int().min(1).max(1000).default(100),
    cursor: z.number().int().min(0).max(MAX_SEQ).default(0).describe('The last next_cursor.'),
    wait: WAIT_SECONDS.default(0).describe('Seconds to wait for the end.'),
    max_chars: MAX_CHARS,
  }),
  rare: ['limit'],
  output: z.looseObject({
    batch: z.string().optional(),
    counts: STATUS_COUNTS.optional(),
    results: z.array(RESULT_ROW).optional(),
    next_cursor: z.number().optional(),
    result: z.unknown().optional().describe('With id: the result.'),
    part: z.string().optional().describe('With id: a part of its JSON, if it is too long.'),
    next_offset: z.number().optional(),
    returned: z.unknown().optional().describe('What the program, or the "return" of the batch, returned.'),
    note: z.string().optional(),
    hints: z.array(z.string()).optional().describe('What to do next.'),
  }),
  annotations: READS,
  scope: 'read',
  run: async ({ batch, id, offset, status, limit, cursor, wait, max_chars: maxChars }, call) => {
    const { executor, store } = call.backend;
    if (wait > 0 && (await store.batch(batch)) !== undefined) await waitForEnd(call, batch, wait);
    if (id !== undefined) {
      const range = { offset, length: maxChars };
      const page = { format: 'summary', limit, offset: 0, cursor: 0 } as const;
      const answer = withHints(await executor.perform('results', { batch, id, range, ...page }));
      const { content, note } = await attachmentsOf(store, batch, [[id, answer.data['result']]], MANY);
      return { text: linesText(answer.text, note), data: { ...answer.data, note: DATA_NOTE }, content };
    }
    const { data } = await executor.perform('status', { batch, detailed: false });
    const counts = data['counts'] as TaskCounts;
    const cached = (data['cached'] as number | undefined) ?? 0;
    const hasEnded = data['state'] === 'idle';
    if (hasEnded && status === undefined && cursor === 0) {
      const value = await valueAnswer(store, batch, counts, maxChars);
      if (value !== undefined) return value;
    }
    const { rows, text, content, next } = await resultRows(store, batch, {
      status,
      afterSeq: cursor,
      limit,
      maxChars,
    });
    const hints = [
      ...(next === undefined ? [] : [hintText('nextPage', next)]),
      ...(hasEnded ? [] : [waitHint(batch)]),
    ];
    return {
      text: linesText(
        `The batch "${batch}" has ${countsText(counts, 'task', cached)}.`,
        rows.length === 0 ? 'No tasks on this page.' : undefined,
        text === '' ? undefined : text,
        hints,
      ),
      content,
      data: {
        batch,
        counts,
        ...(cached > 0 && { cached }),
        results: rows,
        ...(next !== undefined && { next_cursor: next }),
        ...(rows.length > 0 && { note: DATA_NOTE }),
        ...(hints.length > 0 && { hints }),
      },
    };
  },
});

/** Adds the hints of an answer to its data. */
function withHints(answer: ToolAnswer): ToolAnswer {
  const hints = hintsIn(answer.text);
  return hints.length === 0 ? answer : { ...answer, data: { ...answer.data, hints } };
}
