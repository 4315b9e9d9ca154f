import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { startAction } from '../../batch/actions/start.ts';
import { countsText } from '../../batch/counts.ts';
import { TASK } from '../../batch/input/fields.ts';
import { linesText } from '../../batch/text.ts';
import { VolleyError } from '../../core/errors.ts';
import { refuseNesting } from './batch-executor-tool.ts';
import { RESULT_ROW, resultRows } from './result-rows.ts';
import {
  BATCH_NAME,
  COUNTS,
  DEFAULT_CHARS,
  DEFAULT_WAIT_SECONDS,
  defineServedTool,
  MAX_BATCH_SECONDS,
  MAX_CHARS,
  MAX_TASKS_PER_CALL,
  type McpCall,
  RUNS,
  type ToolAnswer,
  WAIT_SECONDS,
} from './tool.ts';
import { waitForEnd } from './wait-for-end.ts';

/** How many results one answer has at most. */
const MAX_ROWS = 1000;
const DEFAULT_TIMEOUT_SECONDS = 600;

const { max_concurrent, timeout, fail_fast } = startAction.schema.shape;

const INPUT = z.strictObject({
  tasks: z
    .array(TASK)
    .min(1)
    .max(MAX_TASKS_PER_CALL)
    .describe('The calls to make. All are validated before any runs.'),
  batch: BATCH_NAME.optional().describe(
    'A new name for the batch. Default: a generated one, which is returned.',
  ),
  max_concurrent,
  timeout: timeout
    .unwrap()
    .max(MAX_BATCH_SECONDS)
    .default(DEFAULT_TIMEOUT_SECONDS)
    .describe(
      `Seconds for the whole batch; tasks that have not ended by then fail. Default ${DEFAULT_TIMEOUT_SECONDS}.`,
    ),
  fail_fast,
  wait: WAIT_SECONDS.default(DEFAULT_WAIT_SECONDS).describe(
    `Seconds to wait for the end. A longer batch continues in the background: see batch_status. Default ${DEFAULT_WAIT_SECONDS}.`,
  ),
  max_chars: MAX_CHARS,
});

const OUTPUT = z.object({
  batch: z.string(),
  state: z.enum(['ended', 'running']),
  counts: COUNTS.describe('How many tasks have each status.'),
  results: z.array(RESULT_ROW).describe('In task order; empty while it runs.'),
  next_cursor: z.number().optional().describe('For batch_results, if there are more.'),
});

/** Tasks in, results out, in one call. */
export const runBatchTool = defineServedTool({
  name: 'run_batch',
  title: 'Run many calls at once',
  description: `Runs many function calls in parallel and returns all results at once: one turn instead of one per call.

Use it for three or more calls when you need not look at each result in between: reading or analyzing many files, querying many endpoints, the same change in many places, or a chain in which one call uses the result of another.
Do not use it for one or two quick calls, or when you must see a result before you know the next step.

list_batch_functions lists the functions and their params.
A task may use results of others: {"$from": "a", "path": "/entries/0/path"} keeps the type, "\${a.entries.0.path}" works inside a string. Both make the task wait for the other. depends_on orders tasks without using results.
A failed task does not stop the others unless fail_fast is set; tasks that depend on it are skipped. Results are in task order.
After "wait" seconds it returns "running" and the batch continues in the background: use batch_status and batch_results. Cancelling the call cancels the batch.

Limits: ${MAX_TASKS_PER_CALL} tasks per call, ${MAX_BATCH_SECONDS / 3600} hours per batch. Long results are truncated to max_chars; batch_results returns them in full. A batch cannot start batches.

Example:
{"tasks": [
  {"id": "list", "function": "list_directory", "params": {"path": "src"}},
  {"id": "readme", "function": "read_file", "params": {"path": "README.md"}},
  {"id": "first", "function": "read_file", "params": {"path": "src/\${list.entries.0.path}"}, "max_retries": 1}
]}`,
  input: INPUT,
  output: OUTPUT,
  annotations: RUNS,
  asTask: true,
  scope: 'run',
  run: async (input, call) => {
    refuseNesting(input.tasks);
    const { executor } = call.backend;
    const batch = await newName(call, input.batch);
    await executor.perform('add_batch', { batch, tasks: input.tasks });
    if (!call.signal.aborted) {
      const { max_concurrent, timeout, fail_fast } = input;
      await executor.perform('start', { batch, max_concurrent, timeout, fail_fast, wait: false });
    }
    const { taskAfterSeconds } = call;
    const outcome = await waitForEnd(call, batch, Math.min(input.wait, taskAfterSeconds ?? input.wait));
    if (outcome === 'cancelled') return cancelled(call, batch);
    // The client asks for the result of a task later, whether or not it has ended.
    if (taskAfterSeconds === 0 || (taskAfterSeconds !== undefined && outcome === 'running')) {
      return { text: '', data: {}, task: batch };
    }
    return outcome === 'running' ? stillRunning(call, batch) : endedAnswer(call, batch, input.max_chars);
  },
});

async function newName({ backend }: McpCall, given: string | undefined): Promise<string> {
  if (given === undefined) return `run-${randomBytes(6).toString('hex')}`;
  if ((await backend.store.batch(given)) === undefined) return given;
  throw new VolleyError(
    'INVALID_REQUEST',
    `The batch ${JSON.stringify(given)} already exists. Omit "batch" or choose another name. batch_executor_tool can add tasks to it.`,
    { batch: given },
  );
}

async function cancelled(call: McpCall, batch: string): Promise<ToolAnswer> {
  const { text } = await call.backend.executor.perform('cancel', { batch, all: true });
  return { text, data: {}, isError: true };
}

async function stillRunning(call: McpCall, batch: string): Promise<ToolAnswer> {
  const { text, data } = await call.backend.executor.perform('status', { batch, detailed: false });
  return {
    text: linesText(
      text,
      `It continues in the background. To wait for it, call batch_status with {"batch": "${batch}", "wait": ${DEFAULT_WAIT_SECONDS}}, then batch_results.`,
    ),
    data: { batch, state: 'running', counts: data['counts'], results: [] },
  };
}

/** The answer for a batch that has ended. */
export async function endedAnswer(
  { backend }: Pick<McpCall, 'backend'>,
  batch: string,
  maxChars = DEFAULT_CHARS,
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
  const { rows, text, content, next } = await resultRows(store, batch, {
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
      isCut ? `For one full result, call batch_results with {"batch": "${batch}", "id": …}.` : undefined,
      next === undefined
        ? undefined
        : `For more results, call batch_results with {"batch": "${batch}", "cursor": ${next}}.`,
      counts.failed > 0
        ? `To retry the failed tasks, call batch_executor_tool with {"action": "retry", "batch": "${batch}"}, then "start".`
        : undefined,
    ),
    content,
    data: {
      batch,
      state: 'ended',
      counts,
      results: rows,
      ...(next !== undefined && { next_cursor: next }),
    },
  };
}
