import { z } from 'zod';
import { ACTIONS } from '../../batch/actions/all.ts';
import type { Action } from '../../batch/actions/define-action.ts';
import { DEFINITIONS } from '../../batch/actions/definitions.ts';
import { BATCH_TOOL, type Request, readRequest, requestScope } from '../../batch/actions/request.ts';
import type { BatchAnswer } from '../../batch/answer.ts';
import { hintsIn } from '../../batch/hints.ts';
import { understand, withUnderstood } from '../../batch/input/understand.ts';
import { VolleyError } from '../../core/errors.ts';
import { show } from '../../core/numbers.ts';
import { DATA_NOTE } from './result-rows.ts';
import { type FieldSchema, shortSchema, shortType } from './short-schema.ts';
import {
  defineServedTool,
  MAX_BATCH_SECONDS,
  MAX_TASKS_PER_CALL,
  MAX_WAIT_SECONDS,
  type McpCall,
  RUNS,
} from './tool.ts';
import { waitForEnd } from './wait-for-end.ts';

const OUTPUT = z.object({
  ok: z.boolean(),
  action: z.string(),
  data: z.record(z.string(), z.unknown()).describe('What the action returned; the same as the text.'),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
  note: z.string().optional(),
  hints: z.array(z.string()).optional().describe('What to do next.'),
});

/** All actions behind one tool. */
export const batchExecutorTool = defineServedTool({
  name: BATCH_TOOL,
  title: 'Batches of tasks',
  description: `Queues, starts, watches and exports batches step by step; they survive a restart. "batch" is the name of the batch. Actions:
${DEFINITIONS.map(signatureOf).join('\n')}`,
  // The executor validates requests, also those in an envelope.
  input: z.custom<unknown>(() => true).meta(mergedInput()),
  output: OUTPUT,
  annotations: RUNS,
  scope: requestScope,
  run: async (given, call) => {
    const { ok, action, text, data, error } = await answer(given, call);
    const hints = hintsIn(text);
    return {
      text,
      data: {
        ok,
        action,
        data,
        ...(error !== undefined && { error }),
        ...(ok && (action === 'results' || action === 'logs') && { note: DATA_NOTE }),
        ...(hints.length > 0 && { hints }),
      },
      isError: !ok,
    };
  },
});

/** An action as models read it: `start(max_concurrent?, timeout?)`. */
function signatureOf({ name, schema }: Action): string {
  if (name === 'add') return 'add(a task of run_batch)';
  const fields = Object.entries(schema.shape)
    .filter(([field]) => field !== 'batch')
    .map(([field, type]) => `${field}${z.safeParse(type, undefined).success ? '?' : ''}`);
  return `${name}(${fields.join(', ')})`;
}

/** Merges the fields of all actions, because many clients do not support a schema with alternatives at its root. */
function mergedInput(): Record<string, unknown> {
  const fields = new Map<string, FieldSchema>();
  for (const { schema } of DEFINITIONS) {
    for (const [field, one] of Object.entries(shortSchema(schema).properties ?? {})) {
      const choices = new Set([...(fields.get(field)?.enum ?? []), ...(one.enum ?? [])]);
      fields.set(field, { ...shortType(one), ...(choices.size > 0 && { enum: [...choices] }) });
    }
  }
  const action = { type: 'string', enum: ACTIONS.map(({ name }) => name) };
  return { type: 'object', properties: { action, ...Object.fromEntries(fields) }, required: ['action'] };
}

async function answer(given: unknown, call: McpCall): Promise<BatchAnswer> {
  const { executor } = call.backend;
  const request = readOrNot(given);
  // The executor reports what is wrong with it.
  if (request === undefined) return executor.handle(given);
  const { action, args, understood } = request;
  const { value, notes } = understand(DEFINITIONS.find(({ name }) => name === action)!.schema, args);
  return withUnderstood(await perform(action, value as Request['args'], call), [...understood, ...notes]);
}

function readOrNot(given: unknown): Request | undefined {
  try {
    return readRequest(given);
  } catch {
    return undefined;
  }
}

async function perform(
  action: Request['action'],
  args: Request['args'],
  call: McpCall,
): Promise<BatchAnswer> {
  switch (action) {
    case 'add':
    case 'add_batch': {
      const tasks = action === 'add' ? [args] : args['tasks'];
      if (Array.isArray(tasks)) checkTasks(tasks);
      break;
    }
    case 'start':
      return start(args, call);
    case 'wait':
      return wait(args, call);
  }
  return call.backend.executor.handle({ action, ...args });
}

function checkTasks(tasks: readonly unknown[]): void {
  refuseNesting(tasks);
  if (tasks.length <= MAX_TASKS_PER_CALL) return;
  throw new VolleyError(
    'INVALID_REQUEST',
    `One call adds at most ${MAX_TASKS_PER_CALL} tasks; this one has ${tasks.length}. Split it. Nothing was changed.`,
  );
}

/** Tools that start batches. A program is a task, so only that of another server starts one. */
const STARTERS = [BATCH_TOOL, 'run_batch', 'tasks_run'];
const STARTERS_ELSEWHERE = [...STARTERS, 'run_program'];

/** Throws if a task would start a batch, directly or through another server: that could recurse forever. */
export function refuseNesting(tasks: readonly unknown[]): void {
  for (const task of tasks) {
    const { function: name } = (task ?? {}) as { function?: unknown };
    if (typeof name !== 'string') continue;
    if (!STARTERS.includes(name) && !STARTERS_ELSEWHERE.some((starter) => name.endsWith(`.${starter}`)))
      continue;
    throw new VolleyError(
      'TOOL_NOT_ALLOWED',
      `A batch cannot call ${show(name)}, because batches cannot start batches. Add its tasks to this batch instead.`,
      { name },
    );
  }
}

/** Waits here and not in the executor, so that the client gets progress and can cancel. */
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
  if (isAwaited !== true && typeof isAwaited !== 'number') {
    return executor.handle({ ...request, ...(isAwaited !== undefined && { wait: isAwaited }) });
  }
  const started = await executor.handle(request);
  if (!started.ok) return started;
  const { batch } = started.data as { batch: string };
  const seconds = isAwaited === true ? MAX_WAIT_SECONDS : Math.min(isAwaited, MAX_WAIT_SECONDS);
  const outcome = await waitForEnd(call, batch, seconds);
  if (outcome === 'cancelled') return executor.handle({ action: 'stop', batch, graceful: false });
  // The current state, without waiting.
  return { ...(await executor.handle({ action: 'wait', batch, timeout: 0.001 })), action: 'start' };
}

async function wait(args: Request['args'], { backend, ...call }: McpCall): Promise<BatchAnswer> {
  const { batch = 'default', timeout = MAX_WAIT_SECONDS } = args;
  const isPlain = typeof batch === 'string' && typeof timeout === 'number' && timeout > 0;
  if (!isPlain || (await backend.store.batch(batch)) === undefined)
    return backend.executor.handle({ action: 'wait', ...args });
  await waitForEnd({ backend, ...call }, batch, Math.min(timeout, MAX_WAIT_SECONDS));
  return backend.executor.handle({ action: 'wait', ...args, timeout: 0.001 });
}
