import type { FailureReason } from '../core/failure.ts';
import { MAX_SPAN_MS } from '../core/numbers.ts';
import { seqOf } from './keys.ts';
import type { BatchRecord, LeaseHolder, TaskOptions, TaskPause, TaskRecord, TaskStatus } from './records.ts';
import { STATUSES } from './statuses.ts';
import { fromStored, fromStoredOrNull, type StoredText } from './text.ts';

/** A row of `batches`. */
export interface BatchData extends Readonly<Record<TaskStatus, number>> {
  readonly id: number;
  readonly name: StoredText;
  readonly created_at: number;
  readonly started_at: number | null;
  readonly ended_at: number | null;
  readonly options: StoredText | null;
  readonly last_seq: number;
}

/** A row of `tasks`, its state and its end. */
export interface TaskData {
  readonly key: number;
  readonly id: StoredText;
  readonly name: StoredText;
  readonly function: StoredText;
  readonly params: StoredText;
  readonly options: StoredText | null;
  readonly added_at: number;
  readonly status: number;
  readonly attempts: number;
  readonly failures: number;
  readonly started_at: number | null;
  readonly attempt_at: number | null;
  readonly ended_at: number | null;
  readonly duration_ms: number | null;
  /** Of the attempts before the last one. */
  readonly earlier_ms: number | null;
  readonly reason: FailureReason | null;
  readonly message: StoredText | null;
  readonly code: StoredText | null;
  readonly cause: StoredText | null;
  readonly result_bytes: number | null;
  readonly preview: StoredText | null;
  /** Of the attempt that failed last, if the next one has not begun. */
  readonly retry_at: number | null;
  readonly retry_reason: FailureReason | null;
  readonly retry_message: StoredText | null;
}

export function batchRecord(row: BatchData, holder: LeaseHolder | undefined): BatchRecord {
  const { open, running, completed, failed, cancelled, skipped } = row;
  return {
    number: row.id,
    name: fromStored(row.name),
    createdAt: row.created_at,
    startedAt: row.started_at ?? undefined,
    endedAt: row.ended_at ?? undefined,
    options: fromStoredOrNull(row.options),
    counts: { open, running, completed, failed, cancelled, skipped },
    holder: holder && { pid: holder.pid, host: holder.host, since: holder.since, seenAt: holder.seenAt },
  };
}

export function taskRecord(row: TaskData, batch: string): TaskRecord {
  return {
    batch,
    seq: seqOf(row.key),
    id: fromStored(row.id),
    name: fromStored(row.name),
    function: fromStored(row.function),
    params: fromStored(row.params),
    options: row.options === null ? {} : (JSON.parse(fromStored(row.options)) as TaskOptions),
    status: STATUSES[row.status]!,
    attempts: row.attempts,
    failures: row.failures,
    addedAt: row.added_at,
    startedAt: row.started_at ?? undefined,
    endedAt: row.ended_at ?? undefined,
    durationMs: durationOf(row),
    reason: row.reason ?? undefined,
    message: fromStoredOrNull(row.message),
    code: fromStoredOrNull(row.code),
    cause: fromStoredOrNull(row.cause),
    resultBytes: row.result_bytes ?? undefined,
    preview: fromStoredOrNull(row.preview),
    ...(row.retry_at !== null && { pause: pauseOf(row, row.retry_at) }),
  };
}

function durationOf(row: TaskData): number | undefined {
  if (row.started_at === null || row.ended_at === null) return undefined;
  const last = row.duration_ms ?? spanBetween(row.attempt_at ?? row.started_at, row.ended_at);
  return last === undefined && row.earlier_ms === null ? undefined : (last ?? 0) + (row.earlier_ms ?? 0);
}

/**
 * How long an attempt took of which only two times of day are known. A span that is negative, or longer than any attempt
 * may be, says that the clock was set in between.
 */
export function spanBetween(start: number | null, end: number | null): number | undefined {
  if (start === null || end === null) return undefined;
  const ms = end - start;
  return ms >= 0 && ms <= MAX_SPAN_MS ? ms : undefined;
}

function pauseOf({ retry_reason: reason, retry_message: message }: TaskData, until: number): TaskPause {
  return { reason: reason ?? 'error', message: fromStoredOrNull(message), until };
}
