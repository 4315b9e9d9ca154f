import { z } from '@hono/zod-openapi';
import type { BatchExecutor } from '../../batch/executor/batch-executor.ts';
import { usageFields } from '../../batch/result-row.ts';
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
      .describe('Of a group, which becomes several executions, its items: how. null for others.'),
    group: z.string().nullable().describe('Of an item: the id of its group.'),
    index: z.int().nullable().describe('Of an item: its place in the group, from 0.'),
    added_at: TIME,
    started_at: TIME.nullable().describe('When its first attempt began.'),
    ended_at: TIME.nullable(),
    duration_ms: z
      .number()
      .nullable()
      .describe(
        'Of one that has ended: how long its attempts took together, without the pauses between them.',
      ),
    cached: z.boolean().describe('Whether its result came from the cache.'),
    memory_mb: z
      .number()
      .nullable()
      .describe(
        'Of a completed one that ran in processes: the peak of its memory, as far as it was measured.',
      ),
    cpu_ms: z.number().nullable().describe('Of the same: its CPU time.'),
    progress: z.number().nullable().describe('Of a running one, 0 to 1, if it tells.'),
    step: z.string().nullable(),
    retry_at: TIME.nullable().describe('Of one that pauses before its next attempt.'),
    reason: z
      .string()
      .nullable()
      .describe('Of a failed one, or of the last attempt of one that pauses before its next.'),
    code: z.string().nullable(),
    message: z.string().nullable(),
    cause: z.string().nullable().describe('Of a skipped one: the task that is to blame.'),
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
  })
  .openapi('Attempt');

/** Everything about one execution, with the beginning of its result. */
export const EXECUTION_DETAIL = EXECUTION.extend({
  params: z.unknown().describe('Its arguments; secrets and what is long are left out.'),
  timeout_ms: z.number().nullable(),
  max_retries: z.int().nullable(),
  on_dependency_failure: z.string(),
  when: z.string().nullable().describe('An expression. It is skipped unless this holds.'),
  for_each: z
    .unknown()
    .describe('Of a group: the list, reference, glob or expression it has an item for each of.'),
  repeat: z
    .object({ until: z.string().nullable(), max: z.int(), delay_ms: z.number().nullable() })
    .nullable()
    .describe('Of a group of rounds.'),
  max_concurrent: z.int().nullable().describe('Of a group: how many items may run at once.'),
  on_item_error: z.enum(['fail', 'null']).nullable().describe('Of a group.'),
  // The description of a nullable reference would refuse null.
  items: z.union([COUNTS, z.null()]).describe('Of a group: how many items have each status.'),
  warnings: z.array(z.string()).describe('Possible mistakes in its arguments.'),
  attempt_list: z.array(ATTEMPT).describe('The newest 100.'),
  explanation: z
    .string()
    .nullable()
    .describe('Why it does not run, or how it ended, in words; null while it runs.'),
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
  const pause = record.status === 'running' ? executor.pause(record) : undefined;
  const running = pause === undefined ? executor.running(batch, seq) : undefined;
  // A start is told as it happens, and written a moment later: who reads in between must not be told less.
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
    memory_mb: usage.memory_mb ?? null,
    cpu_ms: usage.cpu_ms ?? null,
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
  };
}
