import { z } from 'zod';
import { ACTIONS } from '../../batch/actions/all.ts';
import { DEFINITIONS } from '../../batch/actions/definitions.ts';
import { BATCH_TOOL, type Request, readRequest, requestScope } from '../../batch/actions/request.ts';
import type { BatchAnswer } from '../../batch/answer.ts';
import { BATCH_TOOL_DESCRIPTION } from '../../batch/executor/description.ts';
import { VolleyError } from '../../core/errors.ts';
import { show } from '../../core/numbers.ts';
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
});

/** All actions behind one tool. */
export const batchExecutorTool = defineServedTool({
  name: BATCH_TOOL,
  title: 'Batches of tasks',
  description: `${BATCH_TOOL_DESCRIPTION}

run_batch is simpler for a batch that you can send and read in one call. A batch cannot start batches. One call adds at most ${MAX_TASKS_PER_CALL} tasks.`,
  // The executor validates requests, also those in an envelope.
  input: z.custom<unknown>(() => true).meta(mergedInput()),
  output: OUTPUT,
  annotations: RUNS,
  scope: requestScope,
  run: async (given, call) => {
    const { ok, action, text, data, error } = await answer(given, call);
    return { text, data: { ok, action, data, ...(error !== undefined && { error }) }, isError: !ok };
  },
});

interface FieldSchema {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly items?: { readonly properties?: Readonly<Record<string, FieldSchema>> };
}

interface FieldUse {
  readonly action: string;
  readonly schema: FieldSchema;
}

/** Merges the fields of all actions, because many clients do not support a schema with alternatives at its root. */
function mergedInput(): Record<string, unknown> {
  const fields = new Map<string, FieldUse[]>();
  for (const { name, schema } of DEFINITIONS) {
    const { properties = {} } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
    for (const [field, one] of Object.entries(properties))
      fields.set(field, [...(fields.get(field) ?? []), { action: name, schema: one as FieldSchema }]);
  }
  const ofTask = fields.get('tasks')?.[0]?.schema.items?.properties ?? {};
  const merged = [...fields].map(([field, uses]) => {
    // Described under tasks.
    if (field in ofTask && uses.length === 1)
      return [field, { type: uses[0]!.schema.type, description: 'add: as in tasks.' }];
    const { description: _, default: __, ...schema } = uses[0]!.schema;
    const choices = new Set(uses.flatMap((use) => use.schema.enum ?? []));
    const isCommon = uses.length >= DEFINITIONS.length - 1;
    const description = isCommon ? uses[0]!.schema.description : describeUses(uses);
    return [field, { ...schema, ...(choices.size > 0 && { enum: [...choices] }), description }];
  });
  const action = { type: 'string', enum: ACTIONS.map(({ name }) => name) };
  return { type: 'object', properties: { action, ...Object.fromEntries(merged) }, required: ['action'] };
}

/** Describes a field for each action that has it. */
function describeUses(uses: readonly FieldUse[]): string {
  const actions = new Map<string, string[]>();
  for (const { action, schema } of uses) {
    const about = schema.description ?? '';
    actions.set(about, [...(actions.get(about) ?? []), action]);
  }
  return [...actions].map(([about, names]) => `${names.join(', ')}: ${about}`).join(' ');
}

function readOrNot(given: unknown): Request | undefined {
  try {
    return readRequest(given);
  } catch {
    return undefined;
  }
}

async function answer(given: unknown, call: McpCall): Promise<BatchAnswer> {
  const { executor } = call.backend;
  const request = readOrNot(given);
  // The executor reports what is wrong with it.
  if (request === undefined) return executor.handle(given);
  const { action, args } = request;
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
  return executor.handle({ action, ...args });
}

function checkTasks(tasks: readonly unknown[]): void {
  refuseNesting(tasks);
  if (tasks.length <= MAX_TASKS_PER_CALL) return;
  throw new VolleyError(
    'INVALID_REQUEST',
    `One call adds at most ${MAX_TASKS_PER_CALL} tasks; this one has ${tasks.length}. Split it. Nothing was changed.`,
  );
}

/** Tools that start batches. */
const STARTERS = [BATCH_TOOL, 'run_batch', 'tasks_run'];

/** Throws if a task would start a batch, directly or through another server: that could recurse forever. */
export function refuseNesting(tasks: readonly unknown[]): void {
  for (const task of tasks) {
    const { function: name } = (task ?? {}) as { function?: unknown };
    if (typeof name !== 'string') continue;
    if (!STARTERS.some((starter) => name === starter || name.endsWith(`.${starter}`))) continue;
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
  if (isAwaited !== true) {
    return executor.handle({ ...request, ...(isAwaited !== undefined && { wait: isAwaited }) });
  }
  const started = await executor.handle(request);
  if (!started.ok) return started;
  const { batch } = started.data as { batch: string };
  const outcome = await waitForEnd(call, batch, MAX_WAIT_SECONDS);
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
