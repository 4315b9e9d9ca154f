import { z } from '@hono/zod-openapi';
import type { BatchExecutor } from '../../batch/executor/batch-executor.ts';
import { costFields, usageFields } from '../../batch/result-row.ts';
import {
  type AttemptRecord,
  GROUP_KINDS,
  groupKind,
  TASK_STATUSES,
  type TaskRecord,
} from '../../store/records.ts';
import type { Store } from '../../store/store.ts';
import { COUNTS } from './batch.ts';
import { TIME } from './kinds.ts';

/** One task of a batch as a row of a table: no arguments, no result. */
export const EXECUTION = z
  .object({
    batch: z.string(),
    id: z.string(),
    seq: z.int().describe('The order in which tasks were added, from 1.'),
    name: z.string(),
    function: z.string(),
    status: z.enum(TASK_STATUSES),
    priority: z.string(),
    attempts: z.int(),
    depends_on: z.array(z.string()),
    group_kind: z
      .enum(GROUP_KINDS)
      .nullable()
      .describe('For a group: how it becomes several executions, its items. null for others.'),
    group: z.string().nullable().describe('For an item: the id of its group.'),
    index: z.int().nullable().describe('For an item: its position in the group, from 0.'),
    added_at: TIME,
    started_at: TIME.nullable().describe('When its first attempt began.'),
    ended_at: TIME.nullable(),
    duration_ms: z
      .number()
      .nullable()
      .describe('Once it has ended: the total duration of its attempts, without the pauses between them.'),
    cached: z.boolean().describe('Whether its result came from the cache.'),
    worker: z.string().nullable().describe('The worker of its last attempt, if that was placed on one.'),
    memory_mb: z
      .number()
      .nullable()
      .describe('If it completed and ran in processes: its peak memory, if measured.'),
    cpu_ms: z.number().nullable().describe('Likewise: its CPU time.'),
    input_tokens: z
      .int()
      .nullable()
      .describe('If it called models or agents: their tokens, over all attempts.'),
    output_tokens: z.int().nullable(),
    cost_usd: z.number().nullable().describe('Likewise: the cost in US dollars, if known.'),
    progress: z.number().nullable().describe('While it runs: 0 to 1, if it reports progress.'),
    step: z.string().nullable(),
    retry_at: TIME.nullable().describe('If it is waiting for its next attempt.'),
    reason: z
      .string()
      .nullable()
      .describe('If it failed, or if its last attempt failed and it is waiting for the next.'),
    code: z.string().nullable(),
    message: z.string().nullable(),
    cause: z.string().nullable().describe('If it was skipped: the task that caused it.'),
  })
  .openapi('Execution');

/** One try of an execution. */
export const ATTEMPT = z
  .object({
    attempt: z.int().describe('From 1.'),
    started_at: TIME,
    ended_at: TIME.nullable(),
    duration_ms: z.number().nullable().describe('Measured with a monotonic clock.'),
    outcome: z.enum(['running', 'completed', 'failed', 'cancelled', 'crashed']),
    reason: z.string().nullable(),
    message: z.string().nullable(),
    worker: z.string().nullable().describe('The worker that it was placed on, if any.'),
  })
  .openapi('Attempt');

/** Everything about one execution, with the beginning of its result. */
export const EXECUTION_DETAIL = EXECUTION.extend({
  params: z.unknown().describe('Its arguments, without secrets and long values.'),
  timeout_ms: z.number().nullable(),
  max_retries: z.int().nullable(),
  on_dependency_failure: z.string(),
  when: z.string().nullable().describe('An expression. The task is skipped unless it is true.'),
  for_each: z
    .unknown()
    .describe('For a group: the list, reference, glob or expression that its items come from.'),
  repeat: z
    .object({ until: z.string().nullable(), max: z.int(), delay_ms: z.number().nullable() })
    .nullable()
    .describe('For a group of rounds.'),
  max_concurrent: z.int().nullable().describe('For a group: how many items may run at once.'),
  on_item_error: z.enum(['fail', 'null']).nullable().describe('Of a group.'),
  // The description of a nullable reference would refuse null.
  items: z.union([COUNTS, z.null()]).describe('For a group: how many items have each status.'),
  warnings: z.array(z.string()).describe('Possible mistakes in its arguments.'),
  attempt_list: z.array(ATTEMPT).describe('The newest 100.'),
  explanation: z
    .string()
    .nullable()
    .describe('Why it is not running, or how it ended, in words; null while it runs.'),
  result_bytes: z.int().nullable(),
  result_preview: z.string().nullable().describe('The beginning of the result as JSON text.'),
}).openapi('ExecutionDetail');

export type ExecutionBody = z.output<typeof EXECUTION>;
export type AttemptBody = z.output<typeof ATTEMPT>;
export type ExecutionDetailBody = z.output<typeof EXECUTION_DETAIL>;

/** A task as a row of a table, with what only the executor knows of one that runs in this process. */
export function executionBody(record: TaskRecord, executor: BatchExecutor): ExecutionBody {
  const { batch, id, seq, options } = record;
  const usage = usageFields(record);
  const cost = costFields(record);
  const pause = record.status === 'running' ? executor.pause(record) : undefined;
  const running = pause === undefined ? executor.running(batch, seq) : undefined;
  // A start is announced as it happens and written a moment later. A read in between must not return less.
  const isJustBegun = record.status === 'open' && running !== undefined;
  return {
    batch,
    id,
    seq,
    name: record.name,
    function: record.function,
    status: isJustBegun ? 'running' : record.status,
    priority: options.priority ?? 'normal',
    attempts: record.attempts + (isJustBegun ? running.attempt : 0),
    depends_on: [...(options.dependsOn ?? [])],
    group_kind: groupKind(options) ?? null,
    group: options.item?.group ?? null,
    index: options.item?.index ?? null,
    added_at: record.addedAt,
    started_at: record.startedAt ?? running?.startedAt ?? null,
    ended_at: record.endedAt ?? null,
    duration_ms: record.durationMs ?? null,
    cached: record.cached ?? false,
    worker: running === undefined ? (record.worker ?? null) : (running.worker ?? null),
    memory_mb: usage.memory_mb ?? null,
    cpu_ms: usage.cpu_ms ?? null,
    input_tokens: cost.input_tokens ?? null,
    output_tokens: cost.output_tokens ?? null,
    cost_usd: cost.cost_usd ?? null,
    progress: running?.progress ?? null,
    step: running?.step ?? null,
    retry_at: pause?.until ?? null,
    reason: pause?.reason ?? record.reason ?? null,
    code: record.code ?? null,
    message: record.message ?? null,
    cause: record.cause ?? null,
  };
}

/** The attempts of one execution, the oldest first. */
export async function attemptList(store: Store, { batch, id }: TaskRecord): Promise<AttemptBody[]> {
  return (await store.attemptsOf(batch, id)).map(attemptBody);
}

function attemptBody(record: AttemptRecord): AttemptBody {
  return {
    attempt: record.attempt,
    started_at: record.startedAt,
    ended_at: record.endedAt ?? null,
    duration_ms: record.durationMs ?? null,
    outcome: record.outcome,
    reason: record.reason ?? null,
    message: record.message ?? null,
    worker: record.worker ?? null,
  };
}
