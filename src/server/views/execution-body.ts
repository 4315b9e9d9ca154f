import type { RunningTask } from '../../batch/run/monitor.ts';
import type { TaskRecord } from '../../store/records.ts';
import type { ExecutionBody } from '../wire/execution.ts';

/** A task as a row of a table; `running` is its attempt, if it runs in this process. */
export function executionBody(record: TaskRecord, running?: RunningTask): ExecutionBody {
  const { options } = record;
  return {
    batch: record.batch,
    id: record.id,
    seq: record.seq,
    name: record.name,
    function: record.function,
    status: record.status,
    priority: options.priority ?? 'normal',
    attempts: record.attempts,
    depends_on: [...(options.dependsOn ?? [])],
    added_at: record.addedAt,
    started_at: record.startedAt ?? null,
    ended_at: record.endedAt ?? null,
    progress: running?.progress ?? null,
    step: running?.step ?? null,
    reason: record.reason ?? null,
    code: record.code ?? null,
    message: record.message ?? null,
    cause: record.cause ?? null,
  };
}
