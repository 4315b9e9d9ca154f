import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { addBatchAction } from '../../batch/actions/add-batch.ts';
import { startAction } from '../../batch/actions/start.ts';
import { countsText, type TaskCounts } from '../../batch/counts.ts';
import { DEFAULT_WAIT_SECONDS, PROGRAM_ID, RETURN_ID } from '../../batch/input/fields.ts';
import { linesText } from '../../batch/text.ts';
import { VolleyError } from '../../core/errors.ts';
import { COMPUTE, RUN_PROGRAM } from '../../core/script-tools.ts';
import { bytesText } from '../../core/words.ts';
import type { TaskRecord } from '../../store/records.ts';
import type { Store } from '../../store/store.ts';
import { refuseNesting } from './batch-executor-tool.ts';
import { DATA_NOTE, RESULT_ROW, resultRows } from './result-rows.ts';
import {
  BATCH_NAME,
  DEFAULT_CHARS,
  MAX_BATCH_SECONDS,
  MAX_CHARS,
  type McpBackend,
  type McpCall,
  STATUS_COUNTS,
  type ToolAnswer,
  WAIT_SECONDS,
} from './tool.ts';
import { waitForEnd } from './wait-for-end.ts';

/** How many results one answer has at most. */
const MAX_ROWS = 1000;
const DEFAULT_TIMEOUT_SECONDS = 600;
/** The names that {@link newRunName} chooses. Nobody chooses such a name for a batch to keep. */
const RUN_NAME = /^run-[\da-f]{12}$/;
/** How often one process looks for old runs. */
const FORGET_INTERVAL_MS = 3_600_000;
/** When each backend was last looked at. */
const lookedAt = new WeakMap<McpBackend, number>();
const NO_TASKS: TaskCounts = { open: 0, running: 0, completed: 0, failed: 0, cancelled: 0, skipped: 0 };

const { max_concurrent, timeout } = startAction.schema.shape;

/** How a batch that one call adds and waits for is run. */
export const RUN_FIELDS = {
  batch: BATCH_NAME.optional().describe('A new name.'),
  max_concurrent: max_concurrent.describe('Calls at once.'),
  timeout: timeout
    .unwrap()
    .max(MAX_BATCH_SECONDS)
    .default(DEFAULT_TIMEOUT_SECONDS)
    .describe('Seconds in all.'),
  wait: WAIT_SECONDS.default(DEFAULT_WAIT_SECONDS).describe(
    `Seconds until it answers "running" (${DEFAULT_WAIT_SECONDS}).`,
  ),
  max_chars: MAX_CHARS,
};

/** Those that few calls need. */
export const RARE_RUN_FIELDS = ['batch', 'max_chars', 'timeout'];

const FIELDS = z.object(RUN_FIELDS);

/** The answer of a batch that one call adds and waits for. */
export const RUN_OUTPUT = z.object({
  batch: z.string(),
  state: z.enum(['ended', 'running']),
  counts: STATUS_COUNTS.describe('How many tasks have each status.'),
  cached: z.number().optional().describe('How many results came from the cache.'),
  returned: z.unknown().optional().describe('What the program, or the "return" of the batch, returned.'),
  returned_preview: z.string().optional().describe('The beginning of its JSON, if it is too long.'),
  returned_bytes: z.number().optional().describe('The length of a truncated value.'),
  log: z.string().optional().describe('What the program logged.'),
  error: z
    .object({ code: z.string().optional(), message: z.string() })
    .optional()
    .describe('Why a program has no value.'),
  results: z.array(RESULT_ROW).describe('In task order; empty while it runs, and if there is a value.'),
  next_cursor: z.number().optional().describe('For batch_results, if there are more.'),
  note: z.string().optional(),
  hints: z.array(z.string()).optional().describe('What to do next.'),
});

type RunOptions = z.output<typeof FIELDS> & { readonly fail_fast: boolean };
type Added = Omit<z.output<typeof addBatchAction.schema>, 'batch'>;

/** Adds tasks as a new batch, runs it and waits for its end. */
export async function runTasks(call: McpCall, added: Added, options: RunOptions): Promise<ToolAnswer> {
  refuseNesting(added.tasks);
  const { backend, taskAfterSeconds } = call;
  const { executor } = backend;
  const { max_concurrent, timeout, fail_fast, wait, max_chars: maxChars } = options;
  const batch = await newName(call, options.batch);
  await executor.perform('add_batch', { ...added, batch });
  // It must not delay or fail this call.
  forgetOldRuns(backend, Date.now()).catch(() => undefined);
  if (!call.signal.aborted)
    await executor.perform('start', {
      batch,
      max_concurrent,
      timeout,
      fail_fast,
      wait: false,
      cache: true,
      force: false,
    });
  const outcome = await waitForEnd(call, batch, Math.min(wait, taskAfterSeconds ?? wait));
  if (outcome === 'cancelled') return cancelled(call, batch);
  // The client asks for the result of a task later, whether or not it has ended.
  if (taskAfterSeconds === 0 || (taskAfterSeconds !== undefined && outcome === 'running'))
    return { text: '', data: {}, task: batch };
  return outcome === 'running' ? stillRunning(call, batch) : endedAnswer(call, batch, maxChars);
}

async function newName({ backend }: McpCall, given: string | undefined): Promise<string> {
  if (given === undefined) return newRunName();
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

/** How to wait for a batch. */
export function waitHint(batch: string): string {
  return `It continues in the background. To wait for it, call batch_results with {"batch": "${batch}", "wait": ${DEFAULT_WAIT_SECONDS}}.`;
}

async function stillRunning({ backend }: McpCall, batch: string): Promise<ToolAnswer> {
  const { text, data } = await backend.executor.perform('status', { batch, detailed: false });
  const hints = [waitHint(batch)];
  return {
    text: linesText(text, hints),
    data: { batch, state: 'running', counts: data['counts'], results: [], hints },
  };
}

/** The answer for a batch that has ended. */
export async function endedAnswer(
  { backend, profile }: Pick<McpCall, 'backend' | 'profile'>,
  batch: string,
  maxChars = DEFAULT_CHARS,
): Promise<ToolAnswer> {
  const { store, executor } = backend;
  const record = await store.batch(batch);
  const { counts, cached, hasFailures } = record ?? { counts: NO_TASKS, cached: 0, hasFailures: false };
  const value = await valueAnswer(store, batch, counts, maxChars);
  if (value !== undefined) return value;
  const { rows, text, content, next } = await resultRows(store, batch, {
    status: undefined,
    afterSeq: 0,
    limit: MAX_ROWS,
    maxChars,
  });
  const view = await executor.view(batch);
  const isCut = rows.some(({ result_preview: preview }) => preview !== undefined);
  const hints = [
    ...(isCut ? [`For one full result, call batch_results with {"batch": "${batch}", "id": …}.`] : []),
    ...(next === undefined
      ? []
      : [`For more results, call batch_results with {"batch": "${batch}", "cursor": ${next}}.`]),
    ...(hasFailures && profile === 'default'
      ? [
          `To retry the failed tasks, call batch_executor_tool with {"action": "retry", "batch": "${batch}"}, then "start".`,
        ]
      : []),
  ];
  return {
    text: linesText(
      view?.problem,
      `The batch "${batch}" has ended: ${countsText(counts, 'task', cached)}.`,
      text,
      hints,
    ),
    content,
    data: {
      batch,
      state: 'ended',
      counts,
      ...(cached > 0 && { cached }),
      results: rows,
      ...(next !== undefined && { next_cursor: next }),
      ...(rows.length > 0 && { note: DATA_NOTE }),
      ...(hints.length > 0 && { hints }),
    },
    isError: counts.completed === 0 && counts.failed > 0,
  };
}

/**
 * The answer for a program, or for a batch that says what it returns: only that value. Undefined for any other batch, and
 * for one whose "return" was not computed, because then its results explain why.
 */
export async function valueAnswer(
  store: Store,
  batch: string,
  counts: TaskCounts,
  maxChars: number,
): Promise<ToolAnswer | undefined> {
  const program = await store.task(batch, PROGRAM_ID);
  if (program?.function === RUN_PROGRAM)
    return program.status === 'completed'
      ? returned(store, program, counts, maxChars)
      : unreturned(program, counts, await logOf(store, program, maxChars));
  const returning = await store.task(batch, RETURN_ID);
  if (returning?.function !== COMPUTE || returning.status !== 'completed') return undefined;
  return returned(store, returning, counts, maxChars);
}

async function returned(
  store: Store,
  task: TaskRecord,
  counts: TaskCounts,
  maxChars: number,
): Promise<ToolAnswer> {
  const { batch, id, resultBytes = 0 } = task;
  const { lines, data } = await logOf(store, task, maxChars);
  const common = { batch, state: 'ended', counts, ...data, results: [], note: DATA_NOTE };
  const length = Math.min(resultBytes, maxChars);
  const text = (await store.result(batch, id, { offset: 0, length })) ?? 'null';
  if (resultBytes <= maxChars)
    return { text: linesText(DATA_NOTE, text, lines), data: { ...common, returned: JSON.parse(text) } };
  const hints = [
    `For the rest, call batch_results with {"batch": "${batch}", "id": "${id}", "offset": ${length}}.`,
  ];
  return {
    text: linesText(DATA_NOTE, `${text}… (${bytesText(resultBytes)} in all)`, lines, hints),
    data: { ...common, returned_preview: text, returned_bytes: resultBytes, hints },
  };
}

/** What a program logged, for people and as data. */
async function logOf(
  store: Store,
  { batch, id, function: tool }: TaskRecord,
  maxChars: number,
): Promise<{ readonly lines: string | undefined; readonly data: { readonly log?: string } }> {
  const log = tool === RUN_PROGRAM ? (await store.log(batch, id))?.slice(-maxChars) : undefined;
  return log === undefined ? { lines: undefined, data: {} } : { lines: `Log:\n${log}`, data: { log } };
}

function unreturned(
  { batch, status, code, message = '' }: TaskRecord,
  counts: TaskCounts,
  { lines, data }: Awaited<ReturnType<typeof logOf>>,
): ToolAnswer {
  const hints = [`For its calls, call batch_results with {"batch": "${batch}", "status": ["failed"]}.`];
  return {
    text: linesText(
      `The program ${status === 'failed' ? 'failed' : `was ${status}`}${code === undefined ? '' : ` (${code})`}: ${message}`,
      lines,
      `Its batch "${batch}" has ${countsText(counts)}.`,
      hints,
    ),
    data: {
      batch,
      state: 'ended',
      counts,
      error: { ...(code !== undefined && { code }), message },
      ...data,
      results: [],
      hints,
    },
    isError: true,
  };
}

/** A name for a batch that nobody named. */
function newRunName(): string {
  return `run-${randomBytes(6).toString('hex')}`;
}

/**
 * Deletes batches that nobody named and that have not run for a while, with their results. Running ones are kept. Looks
 * at most once an hour.
 */
export async function forgetOldRuns(backend: McpBackend, now: number): Promise<void> {
  const { store, executor, keepRunsMs } = backend;
  if (now - (lookedAt.get(backend) ?? Number.NEGATIVE_INFINITY) < FORGET_INTERVAL_MS) return;
  lookedAt.set(backend, now);
  for (const { name, createdAt, startedAt, endedAt, holder } of await store.batches()) {
    const usedAt = Math.max(createdAt, startedAt ?? 0, endedAt ?? 0);
    if (!RUN_NAME.test(name) || holder !== undefined || now - usedAt < keepRunsMs) continue;
    // It refuses if somebody has just started it.
    await executor.handle({ action: 'clear', batch: name });
  }
}
