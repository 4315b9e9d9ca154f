import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { countsText } from '../../../batch/counts.ts';
import { checkInput } from '../../../batch/input/check.ts';
import { SECONDS } from '../../../batch/input/fields.ts';
import { TASK } from '../../../batch/input/task-input.ts';
import { linesText } from '../../../batch/text.ts';
import { VolleyError } from '../../../core/errors.ts';
import { DEFAULT_WAIT_SECONDS, MAX_BATCH_SECONDS, MAX_TASKS } from '../limits.ts';
import { refuseNesting } from '../nesting.ts';
import { RESULT_ROW, resultRows } from '../result-rows.ts';
import type { McpCall, McpTool, ToolAnswer } from '../tool.ts';
import { untilEnded } from '../until-ended.ts';
import { ask } from './ask.ts';
import { BATCH_NAME, COUNTS, MAX_CHARS, WAIT_SECONDS } from './inputs.ts';

/** How many results one answer has at most. */
const MAX_ROWS = 1000;
const DEFAULT_TIMEOUT_SECONDS = 600;

const INPUT = z.strictObject({
  tasks: z.array(TASK).min(1).max(MAX_TASKS).describe('What to call. All are checked before one runs.'),
  batch: BATCH_NAME.optional().describe(
    'A new name, to find the batch again. Default: one is chosen and told.',
  ),
  max_concurrent: z
    .union([z.number().int().min(1).max(10_000), z.literal('auto')], {
      error: 'must be a whole number from 1 to 10000 or "auto"',
    })
    .default('auto')
    .describe('How many may run at once. Default "auto".'),
  timeout: SECONDS.max(MAX_BATCH_SECONDS)
    .default(DEFAULT_TIMEOUT_SECONDS)
    .describe(
      `Seconds for the whole batch; what has not ended then has failed. Default ${DEFAULT_TIMEOUT_SECONDS}.`,
    ),
  fail_fast: z.boolean().default(false).describe('Whether the first failure cancels the rest.'),
  wait: WAIT_SECONDS.default(DEFAULT_WAIT_SECONDS).describe(
    `Seconds to wait for the end. If it takes longer, the batch goes on: see batch_status. Default ${DEFAULT_WAIT_SECONDS}.`,
  ),
  max_chars: MAX_CHARS,
});

const OUTPUT = z.object({
  batch: z.string(),
  state: z.enum(['ended', 'running']),
  counts: COUNTS.describe('How many tasks have each status.'),
  results: z.array(RESULT_ROW).describe('In the order of the tasks; empty while it runs.'),
  next_cursor: z.number().optional().describe('For batch_results, where there are more.'),
});

/** Tasks in, results out, in one call. */
export const runBatchTool: McpTool = {
  name: 'run_batch',
  title: 'Run many calls at once',
  description: `Runs many function calls in parallel and returns all their results in one answer: one turn instead of one for each call.

Use it whenever you would make three or more calls that do not need you to look at each result in between: reading or analysing many files, asking many endpoints, the same change in many places, or a chain in which one call uses the result of another.
Do not use it for one or two quick calls, nor where you must see a result before you know the next step.

list_batch_functions tells which functions there are and what they take.
A task may use results of others: {"$from": "a", "path": "/entries/0/path"} keeps the type, "\${a.entries.0.path}" stands inside a text; both make it wait for that task. depends_on orders tasks without that.
A task that fails never stops the others, unless fail_fast is set; what depends on it is skipped. Results come in the order of the tasks.
If it takes longer than "wait" seconds, the answer says "running" and the batch goes on: then use batch_status and batch_results. Cancelling the call cancels the batch.

Limits: ${MAX_TASKS} tasks in a call, ${MAX_BATCH_SECONDS / 3600} hours for a batch; long results are cut to max_chars, batch_results gives them whole. A batch cannot start batches.

Example:
{"tasks": [
  {"id": "list", "function": "list_directory", "params": {"path": "src"}},
  {"id": "readme", "function": "read_file", "params": {"path": "README.md"}},
  {"id": "first", "function": "read_file", "params": {"path": "src/\${list.entries.0.path}"}, "max_retries": 1}
]}`,
  input: INPUT,
  output: OUTPUT,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  asTask: true,
  scopeOf: () => 'run',
  run: async (given, call) => {
    const { tasks } = (given ?? {}) as { tasks?: unknown };
    if (Array.isArray(tasks)) refuseNesting(tasks);
    const input = checkInput(INPUT, 'run_batch', given);
    const batch = await newName(call, input.batch);
    await ask(call, { action: 'add_batch', batch, tasks: input.tasks });
    if (!call.signal.aborted) {
      const { max_concurrent, timeout, fail_fast } = input;
      await ask(call, { action: 'start', batch, max_concurrent, timeout, fail_fast });
    }
    const { taskAfterSeconds } = call;
    const outcome = await untilEnded(call, batch, Math.min(input.wait, taskAfterSeconds ?? input.wait));
    if (outcome === 'cancelled') return cancelled(call, batch);
    // As a task its result is asked for later, whether it has ended by now or not.
    if (taskAfterSeconds === 0 || (taskAfterSeconds !== undefined && outcome === 'running')) {
      return { text: '', data: {}, task: batch };
    }
    return outcome === 'running' ? stillRunning(call, batch) : endedAnswer(call, batch, input.max_chars);
  },
};

async function newName({ backend }: McpCall, given: string | undefined): Promise<string> {
  if (given === undefined) return `run-${randomBytes(6).toString('hex')}`;
  if ((await backend.store.batch(given)) === undefined) return given;
  throw new VolleyError(
    'INVALID_REQUEST',
    `There is a batch ${JSON.stringify(given)} already: leave "batch" out, or choose another name. batch_executor_tool can add tasks to it.`,
    { batch: given },
  );
}

async function cancelled(call: McpCall, batch: string): Promise<ToolAnswer> {
  const { text } = await ask(call, { action: 'cancel', batch, all: true });
  return { text, data: {}, isError: true };
}

async function stillRunning(call: McpCall, batch: string): Promise<ToolAnswer> {
  const { text, data } = await ask(call, { action: 'status', batch });
  return {
    text: linesText(
      text,
      `It goes on without you. {"batch": "${batch}", "wait": ${DEFAULT_WAIT_SECONDS}} to batch_status waits for its end; then ask batch_results.`,
    ),
    data: { batch, state: 'running', counts: data['counts'], results: [] },
  };
}

/** What a batch that has ended comes to. */
export async function endedAnswer(
  { backend }: Pick<McpCall, 'backend'>,
  batch: string,
  maxChars = MAX_CHARS.parse(undefined),
): Promise<ToolAnswer> {
  const { store, executor } = backend;
  const counts = (await store.batch(batch))?.counts ?? {
    open: 0,
    running: 0,
    completed: 0,
    failed: 0,
    cancelled: 0,
    skipped: 0,
  };
  const { rows, text, next } = await resultRows(store, batch, {
    status: undefined,
    afterSeq: 0,
    limit: MAX_ROWS,
    maxChars,
  });
  const view = await executor.view(batch);
  const isCut = rows.some(({ result_preview: preview }) => preview !== undefined);
  return {
    text: linesText(
      view?.problem,
      `The batch "${batch}" has ended: ${countsText(counts)}.`,
      text,
      isCut ? `One result whole: batch_results with {"batch": "${batch}", "id": …}.` : undefined,
      next === undefined ? undefined : `More: batch_results with {"batch": "${batch}", "cursor": ${next}}.`,
      counts.failed > 0
        ? `To try again what failed: batch_executor_tool with {"action": "retry", "batch": "${batch}"}, then "start".`
        : undefined,
    ),
    data: {
      batch,
      state: 'ended',
      counts,
      results: rows,
      ...(next !== undefined && { next_cursor: next }),
    },
  };
}
