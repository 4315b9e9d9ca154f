import { z } from 'zod';
import { findBatch, findTask } from '../context.ts';
import { BATCH, TASK_ID } from '../input/fields.ts';
import { droppedText, logLineText, MAX_LOG_LINES, readLog } from '../log-page.ts';
import { taskLog } from '../task-log.ts';
import { linesText } from '../text.ts';
import { defineAction } from './define-action.ts';

const MAX_LINE = 2 ** 40;
/** Longer lines are cut, so that a page fits the context of a model. */
const MAX_SHOWN = 2000;

export const logsAction = defineAction({
  name: 'logs',
  order: 115,
  summary: 'Read what a task printed and logged: the last lines, a page, or lines with a text',
  scope: 'read',
  hints: { readOnly: true },
  schema: z.strictObject({
    batch: BATCH,
    id: TASK_ID.describe('The task.'),
    attempt: z.number().int().min(1).max(1_000_000).optional().describe('The attempt. Default: the last.'),
    from: z
      .number()
      .int()
      .min(0)
      .max(MAX_LINE)
      .optional()
      .describe('The first line, from 0. Default: the last lines.'),
    limit: z.number().int().min(1).max(MAX_LOG_LINES).default(100).describe('Lines on a page.'),
    search: z.string().min(1).max(1000).optional().describe('Only lines that contain this text.'),
  }),
  cli: {
    group: 'look',
    summary: 'Show what a task printed and logged',
    examples: [
      'volley logs audit build',
      'volley logs build -f',
      'volley logs audit build --attempt 1 --search error',
    ],
  },
  run: async ({ batch, id, ...query }, context) => {
    await findBatch(context, batch);
    const task = await findTask(context, batch, id);
    const page = await readLog(taskLog(context.store, task), query);
    const { attempt, attempts, firstLine, endLine, next } = page;
    const lines = page.lines.map((line) => ({ ...line, text: cut(line.text) }));
    return {
      text: linesText(
        droppedText(page),
        lines.length === 0
          ? endLine === 0
            ? `${id} has printed nothing.`
            : 'There are no such lines.'
          : lines.map(logLineText),
        next < endLine
          ? `(Lines ${next} to ${endLine - 1} are left. Continue with from ${next}.)`
          : undefined,
      ),
      data: { batch, id, attempt, attempts, first_line: firstLine, end_line: endLine, next, lines },
    };
  },
});

function cut(text: string): string {
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN)}… (${text.length} characters)`;
}
