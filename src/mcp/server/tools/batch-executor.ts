import { z } from 'zod';
import { ACTIONS } from '../../../batch/actions/all.ts';
import type { BatchAnswer } from '../../../batch/answer.ts';
import { BATCH_TOOL_DESCRIPTION } from '../../../batch/description.ts';
import { BATCH, STATUS_FILTER, TASK_ID } from '../../../batch/input/fields.ts';
import { type Request, readRequest, TOOL_NAME } from '../../../batch/input/request.ts';
import { IDS, TASK, TASK_FIELDS } from '../../../batch/input/task-input.ts';
import { VolleyError } from '../../../core/errors.ts';
import { scopeOfRequest } from '../action-scope.ts';
import { MAX_BATCH_SECONDS, MAX_TASKS, MAX_WAIT_SECONDS } from '../limits.ts';
import { refuseNesting } from '../nesting.ts';
import type { McpCall, McpTool } from '../tool.ts';
import { untilEnded } from '../until-ended.ts';

const NAMES = ACTIONS.map(({ name }) => name);

/** All fields of all actions beside each other: many clients take no schema with alternatives at its root. */
export const BATCH_TOOL_INPUT = z.object({
  action: z.enum(NAMES as [string, ...string[]]),
  batch: BATCH,
  tasks: z.array(TASK).optional().describe('add_batch: the tasks.'),
  ...Object.fromEntries(
    Object.entries(TASK_FIELDS).map(([name, field]) => [name, field.optional()] as const),
  ),
  id: TASK_ID.optional().describe('add: the id of the task. results: one task, with its result.'),
  timeout: z
    .number()
    .positive()
    .optional()
    .describe('Seconds. add: for an attempt; start: for the whole batch; wait: at most.'),
  max_concurrent: z
    .union([z.number().int().min(1), z.literal('auto')])
    .optional()
    .describe('start: how many may run at once. Default "auto".'),
  wait: z.boolean().optional().describe('start: whether to answer only when the batch has ended.'),
  fail_fast: z.boolean().optional().describe('start: whether the first failure cancels the rest.'),
  detailed: z.boolean().optional().describe('status: more of what runs, failed and waits.'),
  format: z
    .enum(['summary', 'detailed', 'json', 'csv', 'jsonl', 'markdown'])
    .optional()
    .describe(
      'results: summary (the default), detailed, json. export: json (the default), csv, jsonl, markdown.',
    ),
  filter_status: STATUS_FILTER.optional().describe('results, export, clear: only tasks of these statuses.'),
  limit: z.number().int().min(1).optional().describe('results, list: how many on a page.'),
  offset: z.number().int().min(0).optional().describe('results: tasks to pass over.'),
  cursor: z.number().int().min(0).optional().describe('results: the next_cursor of the page before.'),
  range: z
    .object({ offset: z.number().int().min(0).optional(), length: z.number().int().min(1).optional() })
    .optional()
    .describe('results with id: a part of the result, in bytes.'),
  output_file: z.string().optional().describe('export: a path inside the allowed folders.'),
  graceful: z.boolean().optional().describe('stop: whether what runs may finish. Default true.'),
  ids: IDS.describe('cancel, retry: the tasks.'),
  all: z.literal(true).optional().describe('cancel, retry: all of them.'),
});

const OUTPUT = z.object({
  ok: z.boolean(),
  action: z.string(),
  data: z.record(z.string(), z.unknown()).describe('What the action tells; the same as the text.'),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
});

/** All actions behind one tool. */
export const batchExecutorTool: McpTool = {
  name: TOOL_NAME,
  title: 'Batches of calls',
  description: `${BATCH_TOOL_DESCRIPTION}

For a batch that can be given and answered in one go, run_batch is simpler. A batch cannot start batches; one call adds at most ${MAX_TASKS} tasks here.`,
  input: BATCH_TOOL_INPUT,
  output: OUTPUT,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  scopeOf: scopeOfRequest,
  run: async (given, call) => {
    const { ok, action, text, data, error } = await answer(given, call);
    return { text, data: { ok, action, data, ...(error !== undefined && { error }) }, isError: !ok };
  },
};

async function answer(given: unknown, call: McpCall): Promise<BatchAnswer> {
  const { executor } = call.backend;
  const request = readable(given);
  // The executor says what is wrong with it.
  if (request === undefined) return executor.handle(given);
  const { action, args } = request;
  switch (action) {
    case 'add':
    case 'add_batch': {
      const tasks = action === 'add' ? [args] : args['tasks'];
      if (Array.isArray(tasks)) checkTasks(tasks);
      return executor.handle({ action, ...args });
    }
    case 'start':
      return start(args, call);
    case 'wait':
      return wait(args, call);
    default:
      return executor.handle({ action, ...args });
  }
}

function readable(given: unknown): Request | undefined {
  try {
    return readRequest(given, NAMES);
  } catch {
    return undefined;
  }
}

function checkTasks(tasks: readonly unknown[]): void {
  refuseNesting(tasks);
  if (tasks.length <= MAX_TASKS) return;
  throw new VolleyError(
    'INVALID_REQUEST',
    `One call adds at most ${MAX_TASKS} tasks, but these are ${tasks.length}: add them in parts. Nothing was changed.`,
  );
}

/** Waits here, and not in the executor, so that the client hears how far it is and can stop it. */
async function start(args: Request['args'], call: McpCall): Promise<BatchAnswer> {
  const { executor } = call.backend;
  const { wait: isAwaited, timeout = MAX_BATCH_SECONDS, ...rest } = args;
  if (typeof timeout === 'number' && timeout > MAX_BATCH_SECONDS) {
    throw new VolleyError(
      'INVALID_REQUEST',
      `timeout must be at most ${MAX_BATCH_SECONDS}, but it is ${timeout}.`,
    );
  }
  const request = { action: 'start', ...rest, timeout };
  if (isAwaited !== true) {
    return executor.handle({ ...request, ...(isAwaited !== undefined && { wait: isAwaited }) });
  }
  const started = await executor.handle(request);
  if (!started.ok) return started;
  const { batch } = started.data as { batch: string };
  const outcome = await untilEnded(call, batch, MAX_WAIT_SECONDS);
  if (outcome === 'cancelled') return executor.handle({ action: 'stop', batch, graceful: false });
  return { ...(await standing(call, batch)), action: 'start' };
}

async function wait(args: Request['args'], call: McpCall): Promise<BatchAnswer> {
  const { batch = 'default', timeout = MAX_WAIT_SECONDS } = args;
  const isPlain = typeof batch === 'string' && typeof timeout === 'number' && timeout > 0;
  if (isPlain && (await call.backend.store.batch(batch)) !== undefined) {
    await untilEnded(call, batch, Math.min(timeout, MAX_WAIT_SECONDS));
    return call.backend.executor.handle({ action: 'wait', ...args, timeout: 0.001 });
  }
  return call.backend.executor.handle({ action: 'wait', ...args });
}

/** How a batch stands after its end, or that it has not ended yet; without waiting. */
function standing({ backend }: McpCall, batch: string): Promise<BatchAnswer> {
  return backend.executor.handle({ action: 'wait', batch, timeout: 0.001 });
}
