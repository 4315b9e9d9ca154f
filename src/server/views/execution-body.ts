import type { BatchExecutor } from '../../batch/batch-executor.ts';
import type { TaskRecord } from '../../store/records.ts';
import type { ExecutionBody } from '../wire/execution.ts';

/** A task as a row of a table, with what only the executor knows of one that runs in this process. */
export function executionBody(record: TaskRecord, executor: BatchExecutor): ExecutionBody {
  const { batch, id, seq, options } = record;
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
    added_at: record.addedAt,
    started_at: record.startedAt ?? running?.startedAt ?? null,
    ended_at: record.endedAt ?? null,
    duration_ms: record.durationMs ?? null,
    progress: running?.progress ?? null,
    step: running?.step ?? null,
    retry_at: pause?.until ?? null,
    reason: pause?.reason ?? record.reason ?? null,
    code: record.code ?? null,
    message: record.message ?? null,
    cause: record.cause ?? null,
  };
}
