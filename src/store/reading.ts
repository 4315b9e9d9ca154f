import type { FailureReason } from '../core/failure.ts';
import { checkNumber } from '../core/numbers.ts';
import { type AttemptRecord, OUTPUT_STREAMS, type OutputLine, type TaskStatus } from './records.ts';
import {
  fromStored,
  fromStoredOrNull,
  MAX_SEQ,
  PART_BYTES,
  parsedOptions,
  STATUSES,
  type StoredText,
  seqInKey,
  spanBetween,
  statusNumber,
} from './rows.ts';
import type { TaskOutline, TaskQuery, TaskSummary } from './store.ts';

/** What reads of all stores share. */

/** The most attempts of one task that are listed, newest first. */
export const MAX_LISTED = 100;
/** The most measured tasks that are read to learn from, latest batches first. */
export const MAX_USAGES = 2000;
/** The most tasks scanned for the slowest ones at once: some milliseconds. */
export const TASKS_PER_SCAN = 10_000;
/** The most continuation bytes of a UTF-8 character. */
const MAX_CONTINUATIONS = 3;
/** The base of the times in a line of output. */
const RADIX = 36;

export function checkQuery({ afterSeq, beforeSeq, limit }: TaskQuery): void {
  checkNumber('limit', limit, { min: 0, integer: true });
  if (afterSeq !== undefined) checkNumber('afterSeq', afterSeq, { min: 0, max: MAX_SEQ, integer: true });
  if (beforeSeq !== undefined)
    checkNumber('beforeSeq', beforeSeq, { min: 1, max: MAX_SEQ + 1, integer: true });
}

/** A set of statuses as a number. */
export function bitsOf(statuses: readonly TaskStatus[]): number {
  return statuses.reduce((bits, status) => bits | (1 << statusNumber(status)), 0);
}

export interface SummaryData {
  readonly key: number;
  readonly function: StoredText;
  readonly status: number;
  readonly attempts: number;
  readonly cause: StoredText | null;
  readonly parent: number | null;
}

export function taskSummary(id: string, row: SummaryData): TaskSummary {
  const { key, function: tool, status, attempts, cause, parent } = row;
  return {
    id,
    seq: seqInKey(key),
    function: fromStored(tool),
    status: STATUSES[status]!,
    attempts,
    cause: cause === null ? undefined : fromStored(cause),
    groupSeq: parent === null ? undefined : seqInKey(parent),
  };
}

/** As an array: objects take twice as long. */
export type OutlineRow = [key: number, id: StoredText, tool: StoredText, options: StoredText | null];

export function outline([key, id, tool, options]: OutlineRow): TaskOutline {
  return {
    seq: seqInKey(key),
    id: fromStored(id),
    function: fromStored(tool),
    options: parsedOptions(options),
  };
}

/** A result: the beginning of it, and whether there is more. */
export interface ResultData {
  readonly key: number;
  readonly result_bytes: number;
  readonly preview: StoredText;
}

/** The whole result, if it is so short that it is stored with its task. */
export function shortResult({ preview, result_bytes: bytes }: ResultData): string | undefined {
  const text = fromStored(preview);
  return Buffer.byteLength(text) === bytes ? text : undefined;
}

/** The parts of a longer result in which a range and its last character are. */
export function partsOf(offset: number, end: number): { readonly first: number; readonly last: number } {
  return {
    first: Math.floor(offset / PART_BYTES),
    last: Math.floor((end + MAX_CONTINUATIONS) / PART_BYTES),
  };
}

/** A character belongs to the range in which it starts, so that adjacent ranges form the whole. */
export function charactersIn(bytes: Buffer, offset: number, end: number): string {
  let [from, to] = [offset, end];
  while (isContinuation(bytes[from])) from++;
  while (isContinuation(bytes[to])) to++;
  return bytes.toString('utf8', from, to);
}

/** Whether a UTF-8 byte continues a character. */
function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0b1100_0000) === 0b1000_0000;
}

export interface AttemptData {
  readonly key: number;
  readonly id: StoredText;
  readonly attempt: number;
  readonly started_at: number | null;
  readonly ended_at: number | null;
  readonly duration_ms: number | null;
  readonly status: number;
  readonly reason: FailureReason | null;
  readonly message: StoredText | null;
  readonly worker: string | null;
}

/** The attempts of tasks in order: those with rows of their own, and the last ones, which are the tasks themselves. */
export function attemptRecords(
  tasks: readonly AttemptData[],
  earlier: readonly AttemptData[],
): AttemptRecord[] {
  const rows = [...earlier];
  const known = new Set(rows.map(({ key, attempt }) => `${key} ${attempt}`));
  for (const task of tasks) if (isAttempt(task) && !known.has(`${task.key} ${task.attempt}`)) rows.push(task);
  rows.sort((a, b) => a.key - b.key || a.attempt - b.attempt);
  return rows.map(attemptRecord);
}

/** Whether the row describes an attempt: not for a task that is open or was skipped. */
function isAttempt({ attempt, status }: AttemptData): boolean {
  return attempt > 0 && STATUSES[status] !== 'open' && STATUSES[status] !== 'skipped';
}

function attemptRecord(row: AttemptData): AttemptRecord {
  const status = STATUSES[row.status] as 'running' | 'completed' | 'failed' | 'cancelled';
  return {
    seq: seqInKey(row.key),
    id: fromStored(row.id),
    attempt: row.attempt,
    startedAt: row.started_at ?? row.ended_at ?? 0,
    endedAt: row.ended_at ?? undefined,
    durationMs: row.duration_ms ?? spanBetween(row.started_at, row.ended_at),
    outcome: row.reason === 'crashed' ? 'crashed' : status,
    reason: row.reason ?? undefined,
    message: fromStoredOrNull(row.message),
    ...(row.worker !== null && { worker: row.worker }),
  };
}

/** A line of output as it is stored: the index of its stream, its time and its text. It contains no line break. */
export function encodedLine({ at, stream, text }: OutputLine): string {
  return `${OUTPUT_STREAMS.indexOf(stream)}${Math.trunc(at).toString(RADIX)} ${text}\n`;
}

/** The lines of a stored chunk from a number on. */
export function linesFrom(row: { first: number; body: string }, fromLine: number) {
  const firstLine = Math.max(row.first, fromLine);
  const lines = row.body.split('\n').slice(firstLine - row.first, -1);
  return { firstLine, lines: lines.map(decodedLine) };
}

function decodedLine(line: string): OutputLine {
  const space = line.indexOf(' ');
  return {
    at: Number.parseInt(line.slice(1, space), RADIX),
    stream: OUTPUT_STREAMS[Number(line[0])] ?? 'log',
    text: line.slice(space + 1),
  };
}
