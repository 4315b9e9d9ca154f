import { VolleyError } from '../core/errors.ts';
import type { FailureReason } from '../core/failure.ts';
import { MAX_SPAN_MS } from '../core/numbers.ts';
import {
  type BatchRecord,
  type LeaseHolder,
  NO_OPTIONS,
  type StoredSpending,
  type StoredUsage,
  type TaskOptions,
  type TaskPause,
  type TaskRecord,
  type TaskStatus,
} from './records.ts';

/** The most tasks a batch may ever have. Keys are safe integers for the first 8 million batches. */
export const MAX_SEQ = 2 ** 30 - 1;
const SPAN = MAX_SEQ + 1;

/** Combines the numbers of a batch and a task into one that sorts by both. */
export function keyOf(batchId: number, seq: number): number {
  return batchId * SPAN + seq;
}

export function seqInKey(key: number): number {
  return key % SPAN;
}

/** The largest key of a task in the batch. */
export function lastKeyOf(batchId: number): number {
  return keyOf(batchId, MAX_SEQ);
}

export function checkRoomFor(batch: string, lastSeq: number, added: number): void {
  if (lastSeq + added <= MAX_SEQ) return;
  throw new VolleyError(
    'INVALID_VALUE',
    `The batch ${JSON.stringify(batch)} has had ${lastSeq} tasks, too many to add more. Use another batch.`,
  );
}

/** A status is stored as its index. The order never changes; new ones go at the end. */
export const STATUSES = [
  'open',
  'running',
  'completed',
  'failed',
  'cancelled',
  'skipped',
] as const satisfies readonly TaskStatus[];

export const OPEN = 0;
export const RUNNING = 1;
export const COMPLETED = 2;
export const FAILED = 3;
export const CANCELLED = 4;
export const SKIPPED = 5;

export function statusNumber(status: TaskStatus): number {
  return STATUSES.indexOf(status);
}

/** Characters that SQLite would truncate at (NUL) or alter (unpaired surrogates). */
const FRAGILE = /[\0\p{Surrogate}]/u;

/** A string as bound to a statement. Each string has exactly one form, so that it can be looked up. */
export type StoredText = string | Uint8Array;

/** Nearly all strings are stored as text. One that would not survive is stored as a blob of its UTF-16 code units. */
export function toStored(text: string): StoredText {
  return FRAGILE.test(text) ? Buffer.from(text, 'utf16le') : text;
}

export function fromStored(stored: StoredText): string {
  return typeof stored === 'string' ? stored : asBuffer(stored).toString('utf16le');
}

export function toStoredOrNull(text: string | undefined): StoredText | null {
  return text === undefined ? null : toStored(text);
}

export function fromStoredOrNull(stored: StoredText | null): string | undefined {
  return stored === null ? undefined : fromStored(stored);
}

/** The part of a result that is stored with its task. A result that is not longer is stored only there. */
export const PREVIEW_LENGTH = 200;
/** Longer results are stored in chunks of this many bytes, so that a range can be read without the rest. */
export const PART_BYTES = 64 * 1024;

/** A view of the same bytes, not a copy. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Truncates to a number of characters without splitting one. */
export function beginningOf(text: string, length: number): string {
  if (text.length <= length) return text;
  const last = text.charCodeAt(length - 1);
  const isHalf = last >= 0xd800 && last <= 0xdbff;
  return text.slice(0, isHalf ? length - 1 : length);
}

/** A row of `batches`. */
export interface BatchData extends Readonly<Record<TaskStatus, number>>, SpendingData {
  readonly id: number;
  readonly name: StoredText;
  readonly created_at: number;
  readonly started_at: number | null;
  readonly ended_at: number | null;
  readonly options: StoredText | null;
  readonly last_seq: number;
  readonly cached: number;
}

/** A row of `tasks` with its state and its end. */
export interface TaskData extends UsageData, SpendingData {
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
  readonly worker: string | null;
  readonly ended_at: number | null;
  readonly duration_ms: number | null;
  /** Totals of the attempts before the last one. */
  readonly earlier_ms: number | null;
  readonly reason: FailureReason | null;
  readonly message: StoredText | null;
  readonly code: StoredText | null;
  readonly cause: StoredText | null;
  readonly result_bytes: number | null;
  readonly preview: StoredText | null;
  readonly cached: 1 | null;
  /** The last failed attempt, if the next one has not begun. */
  readonly retry_at: number | null;
  readonly retry_reason: FailureReason | null;
  readonly retry_message: StoredText | null;
}

interface SpendingData {
  /** Null or 0 if no model or agent was called. */
  readonly calls: number | null;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cost_usd: number;
  readonly unpriced: number;
}

function spendingOf(row: SpendingData): StoredSpending | undefined {
  if (!row.calls) return undefined;
  const { calls, input_tokens: inputTokens, output_tokens: outputTokens, cost_usd: costUsd, unpriced } = row;
  return { calls, inputTokens, outputTokens, costUsd, unpriced };
}

export interface UsageData {
  readonly memory_mb: number | null;
  readonly cpu_ms: number | null;
  /** Null if nothing was measured. */
  readonly used_ms: number | null;
}

export function usageOf({ memory_mb, cpu_ms, used_ms }: UsageData): StoredUsage | undefined {
  if (used_ms === null) return undefined;
  return {
    ...(memory_mb !== null && { memoryMb: memory_mb }),
    ...(cpu_ms !== null && { cpuMs: cpu_ms }),
    durationMs: used_ms,
  };
}

export function batchRecord(
  row: BatchData,
  holder: LeaseHolder | undefined,
  hasFailures: boolean,
): BatchRecord {
  const { open, running, completed, failed, cancelled, skipped } = row;
  return {
    number: row.id,
    name: fromStored(row.name),
    createdAt: row.created_at,
    startedAt: row.started_at ?? undefined,
    endedAt: row.ended_at ?? undefined,
    options: fromStoredOrNull(row.options),
    counts: { open, running, completed, failed, cancelled, skipped },
    cached: row.cached,
    spending: spendingOf(row),
    hasFailures,
    holder: holder && { pid: holder.pid, host: holder.host, since: holder.since, seenAt: holder.seenAt },
  };
}

export function taskRecord(row: TaskData, batch: string): TaskRecord {
  return {
    batch,
    seq: seqInKey(row.key),
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
    ...(row.cached === 1 && { cached: true }),
    ...(row.worker !== null && { worker: row.worker }),
    ...(row.retry_at !== null && { pause: pauseOf(row, row.retry_at) }),
    ...(row.used_ms !== null && { usage: usageOf(row)! }),
    ...(row.calls !== null && { spending: spendingOf(row)! }),
  };
}

function durationOf(row: TaskData): number | undefined {
  if (row.started_at === null || row.ended_at === null) return undefined;
  const last = row.duration_ms ?? spanBetween(row.attempt_at ?? row.started_at, row.ended_at);
  return last === undefined && row.earlier_ms === null ? undefined : (last ?? 0) + (row.earlier_ms ?? 0);
}

/**
 * The duration of an attempt with only wall clock times. A negative or impossibly long span means that the clock was
 * set meanwhile.
 */
export function spanBetween(start: number | null, end: number | null): number | undefined {
  if (start === null || end === null) return undefined;
  const ms = end - start;
  return ms >= 0 && ms <= MAX_SPAN_MS ? ms : undefined;
}

function pauseOf({ retry_reason: reason, retry_message: message }: TaskData, until: number): TaskPause {
  return { reason: reason ?? 'error', message: fromStoredOrNull(message), until };
}

export function parsedOptions(options: StoredText | null): TaskOptions {
  return options === null ? NO_OPTIONS : (JSON.parse(fromStored(options)) as TaskOptions);
}

/** The row of an open task as an array: objects take twice as long. */
export type OpenTaskRow = [
  key: number,
  id: StoredText,
  name: StoredText,
  tool: StoredText,
  params: StoredText,
  options: StoredText | null,
  addedAt: number,
  attempts: number,
  failures: number,
];

/** An open task lacks most fields. Written out, because there are many tasks and spreading is slower. */
export function openTaskRecord(
  batch: string,
  [key, id, name, tool, params, options, addedAt, attempts, failures]: OpenTaskRow,
): TaskRecord {
  return {
    batch,
    seq: seqInKey(key),
    id: fromStored(id),
    name: fromStored(name),
    function: fromStored(tool),
    params: fromStored(params),
    options: parsedOptions(options),
    status: 'open',
    attempts,
    failures,
    addedAt,
    startedAt: undefined,
    endedAt: undefined,
    durationMs: undefined,
    reason: undefined,
    message: undefined,
    code: undefined,
    cause: undefined,
    resultBytes: undefined,
    preview: undefined,
  };
}
