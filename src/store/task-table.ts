import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite';
import { VolleyError } from '../core/errors.ts';
import type { Spending } from '../runners/runner.ts';
import type { BatchTable } from './batch-table.ts';
import type { Completion, StoredBlob, StoredUsage, TaskEnd } from './records.ts';
import { settled, unknownNumber } from './refusals.ts';
import {
  beginningOf,
  COMPLETED,
  keyOf,
  OPEN,
  PART_BYTES,
  PREVIEW_LENGTH,
  RUNNING,
  seqInKey,
  statusNumber,
  toStored,
  toStoredOrNull,
} from './rows.ts';
import { TransactionRefused } from './write-queue.ts';

/**
 * Records starts and ends of tasks. Each method is one write: it checks, then writes. Completed tasks are buffered
 * until the end of the transaction, because many rows are written much faster together.
 */
export class TaskTable {
  private readonly start: StatementSyncInstance;
  private readonly place: StatementSyncInstance;
  private readonly end: StatementSyncInstance;
  private readonly insertEnd: StatementSyncInstance;
  private readonly status: StatementSyncInstance;
  private readonly spend: StatementSyncInstance;
  private readonly spendOfBatch: StatementSyncInstance;
  private readonly completions: Completions;

  constructor(
    writer: DatabaseSyncInstance,
    private readonly batches: BatchTable,
  ) {
    this.start = writer.prepare(
      `UPDATE states SET status = ${RUNNING}, attempts = attempts + 1,
         started_at = coalesce(started_at, ?1), attempt_at = ?1, worker = NULL
       WHERE key = ?2 AND status = ?3`,
    );
    this.place = writer.prepare(`UPDATE states SET worker = ? WHERE key = ? AND status = ${RUNNING}`);
    this.end = writer.prepare('UPDATE states SET status = ? WHERE key = ? AND status = ?');
    this.insertEnd = writer.prepare(
      `INSERT INTO ends (key, ended_at, duration_ms, reason, code, cause, message)
       VALUES (?, ?, ?, ?, ?, ?, ?)`,
    );
    this.status = writer.prepare('SELECT status FROM states WHERE key = ?');
    this.spend = writer.prepare(
      `INSERT INTO spending (key, calls, input_tokens, output_tokens, cost_usd, unpriced)
       SELECT key, 1, ?, ?, ?, ? FROM states WHERE key = ?
       ON CONFLICT (key) DO UPDATE SET calls = calls + 1, input_tokens = input_tokens + excluded.input_tokens,
         output_tokens = output_tokens + excluded.output_tokens, cost_usd = cost_usd + excluded.cost_usd,
         unpriced = unpriced + excluded.unpriced`,
    );
    this.spendOfBatch = writer.prepare(
      `UPDATE batches SET calls = calls + 1, input_tokens = input_tokens + ?, output_tokens = output_tokens + ?,
         cost_usd = cost_usd + ?, unpriced = unpriced + ? WHERE id = ?`,
    );
    this.completions = new Completions(writer, batches, ({ batch, key }) =>
      this.refuse(batch, seqInKey(key), key),
    );
  }

  /** Starts a transaction. */
  begin(): void {
    this.completions.begin();
  }

  /** Whether enough is buffered for a transaction. */
  get isFull(): boolean {
    return this.completions.isFull;
  }

  /** Writes the buffer before the transaction is committed. */
  finish(): void {
    this.completions.write();
  }

  /** Starts an attempt: the first of an open task, or another one of a running task. */
  started(batch: string, seq: number, at: number): void {
    const batchId = this.batches.knownId(batch);
    const key = keyOf(batchId, seq);
    this.completions.settle(key);
    const time = Math.trunc(at);
    if (this.start.run(time, key, OPEN).changes === 1) {
      this.batches.changeCount(batchId, OPEN, -1);
      this.batches.changeCount(batchId, RUNNING, 1);
      return;
    }
    if (this.start.run(time, key, RUNNING).changes === 0) this.refuse(batch, seq, key);
  }

  /** The worker of the current attempt. One that has ended meanwhile needs none. */
  placed(batch: string, seq: number, worker: string): void {
    this.place.run(worker, keyOf(this.batches.knownId(batch), seq));
  }

  /** `startedAt`: when the last attempt began, if not recorded before. */
  ended(
    batch: string,
    seq: number,
    end: TaskEnd,
    at: number,
    startedAt: number | undefined,
    durationMs: number | undefined,
  ): void {
    const batchId = this.batches.knownId(batch);
    const key = keyOf(batchId, seq);
    if (end.status === 'completed') {
      this.completions.add(batch, batchId, { seq, result: end.result, endedAt: at, startedAt, durationMs });
      return;
    }
    if (startedAt !== undefined) this.started(batch, seq, startedAt);
    this.completions.settle(key);
    const status = statusNumber(end.status);
    let before = RUNNING;
    if (this.end.run(status, key, RUNNING).changes === 0) {
      before = OPEN;
      if (this.end.run(status, key, OPEN).changes === 0) this.refuse(batch, seq, key);
    }
    this.batches.changeCount(batchId, before, -1);
    this.batches.changeCount(batchId, status, 1);
    this.writeEnd(key, end, Math.trunc(at), durationMs);
  }

  /** Adds what a call of a model or an agent cost. */
  spent(batch: string, seq: number, { inputTokens, outputTokens, costUsd }: Spending): void {
    const batchId = this.batches.knownId(batch);
    const sums = [inputTokens, outputTokens, costUsd ?? 0, costUsd === undefined ? 1 : 0] as const;
    if (this.spend.run(...sums, keyOf(batchId, seq)).changes === 1) this.spendOfBatch.run(...sums, batchId);
  }

  completed(batch: string, tasks: readonly Completion[]): void {
    const batchId = this.batches.knownId(batch);
    for (const task of tasks) this.completions.add(batch, batchId, task);
  }

  writeEnd(
    key: number,
    end: Exclude<TaskEnd, { status: 'completed' }>,
    at: number,
    durationMs?: number | undefined,
  ): void {
    const ms = durationMs === undefined ? null : Math.trunc(durationMs);
    switch (end.status) {
      case 'failed': {
        const { reason, code, message } = end;
        this.insertEnd.run(key, at, ms, reason, toStoredOrNull(code), null, toStored(message));
        return;
      }
      case 'cancelled':
        this.insertEnd.run(key, at, ms, null, null, null, toStored(end.message));
        return;
      case 'skipped':
        this.insertEnd.run(
          key,
          at,
          ms,
          null,
          toStoredOrNull(end.code),
          toStoredOrNull(end.cause),
          toStoredOrNull(end.message),
        );
    }
  }

  /** Throws the reason why nothing was changed: the task does not exist or has ended. */
  private refuse(batch: string, seq: number, key: number): never {
    throw this.status.get(key) === undefined ? unknownNumber(batch, seq) : settled(batch, seq);
  }
}

/** The number of ends per statement: calling SQLite costs more than writing a row. */
const ROWS = 16;
const ROW = '(?, ?, ?, ?, ?)';
const COLUMNS = 5;
/** The most buffered completions, so that a write stays short. */
const MAX_BUFFERED = 256;

interface BufferedCompletion {
  readonly batch: string;
  readonly batchId: number;
  readonly key: number;
  readonly startedAt: number | undefined;
  readonly endedAt: number;
  readonly durationMs: number | null;
  readonly result: string | undefined;
  readonly blobs: readonly StoredBlob[] | undefined;
  readonly isCached: boolean;
  readonly usage: StoredUsage | undefined;
}

/** Buffers the completions of a transaction and writes them at its end with as few statements as possible. */
export class Completions {
  /** By key. */
  private readonly kept = new Map<number, BufferedCompletion>();
  private readonly startAndEnd: StatementSyncInstance;
  private readonly end: StatementSyncInstance;
  private readonly insertOne: StatementSyncInstance;
  private readonly insertMany: StatementSyncInstance;
  private readonly insertResult: StatementSyncInstance;
  private readonly insertBlob: StatementSyncInstance;
  private readonly markCached: StatementSyncInstance;
  private readonly insertUsage: StatementSyncInstance;

  constructor(
    writer: DatabaseSyncInstance,
    private readonly batches: BatchTable,
    /** Throws the reason why a task cannot be completed. */
    private readonly refuse: (task: BufferedCompletion) => never,
  ) {
    // The unary plus makes SQLite use the key range instead of the status index.
    this.startAndEnd = writer.prepare(
      `UPDATE states SET status = ${COMPLETED}, attempts = attempts + 1,
         started_at = coalesce(started_at, ?1), attempt_at = ?1, worker = NULL
       WHERE key BETWEEN ?2 AND ?3 AND +status = ?4`,
    );
    this.end = writer.prepare(
      `UPDATE states SET status = ${COMPLETED} WHERE key BETWEEN ? AND ? AND +status = ?`,
    );
    const insert = 'INSERT INTO ends (key, ended_at, duration_ms, result_bytes, preview) VALUES';
    this.insertOne = writer.prepare(`${insert} ${ROW}`);
    this.insertMany = writer.prepare(`${insert} ${new Array<string>(ROWS).fill(ROW).join(', ')}`);
    this.insertResult = writer.prepare('INSERT INTO results (key, part, body) VALUES (?, ?, ?)');
    this.insertBlob = writer.prepare(
      'INSERT INTO blobs (batch, id, mime_type, body) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
    );
    this.markCached = writer.prepare('UPDATE ends SET cached = 1 WHERE key = ?');
    this.insertUsage = writer.prepare(
      'INSERT OR REPLACE INTO usage (key, memory_mb, cpu_ms, duration_ms) VALUES (?, ?, ?, ?)',
    );
  }

  /** Starts a transaction: the previous buffer was written or undone. */
  begin(): void {
    this.kept.clear();
  }

  get isFull(): boolean {
    return this.kept.size >= MAX_BUFFERED;
  }

  add(
    batch: string,
    batchId: number,
    { seq, result, startedAt, endedAt, durationMs, blobs, isCached = false, usage }: Completion,
  ): void {
    const key = keyOf(batchId, seq);
    this.settle(key);
    this.kept.set(key, {
      batch,
      batchId,
      key,
      startedAt: startedAt === undefined ? undefined : Math.trunc(startedAt),
      endedAt: Math.trunc(endedAt),
      durationMs: durationMs === undefined ? null : Math.trunc(durationMs),
      result,
      blobs,
      isCached,
      usage,
    });
  }

  /** Writes a task's buffered completion before anything else is written to it. */
  settle(key: number): void {
    if (this.kept.has(key)) this.write();
  }

  /** Writes the buffer. Problems surface only now, so the transaction is rejected because of them. */
  write(): void {
    if (this.kept.size === 0) return;
    try {
      this.writeKept();
    } catch (error) {
      throw error instanceof VolleyError ? new TransactionRefused(error) : error;
    }
  }

  private writeKept(): void {
    const tasks = [...this.kept.values()].sort((a, b) => a.key - b.key);
    this.kept.clear();
    for (let first = 0; first < tasks.length; ) {
      let next = first + 1;
      while (next < tasks.length && follows(tasks[next - 1]!, tasks[next]!)) next++;
      this.writeStates(tasks[first]!, next - first);
      first = next;
    }
    this.writeEnds(tasks);
  }

  /** Tasks with consecutive numbers: the first one and their count. */
  private writeStates(first: BufferedCompletion, count: number): void {
    const { batchId, key, startedAt } = first;
    const likely = startedAt === undefined ? RUNNING : OPEN;
    let missing = count;
    for (const before of [likely, likely === OPEN ? RUNNING : OPEN]) {
      const last = key + count - 1;
      const { changes } =
        startedAt === undefined
          ? this.end.run(key, last, before)
          : this.startAndEnd.run(startedAt, key, last, before);
      this.batches.changeCount(batchId, before, -changes);
      missing -= changes;
      if (missing === 0) break;
    }
    if (missing > 0) this.refuse(first);
    this.batches.changeCount(batchId, COMPLETED, count);
  }

  private writeEnds(tasks: readonly BufferedCompletion[]): void {
    let values: (number | string | Uint8Array | null)[] = [];
    let rows = 0;
    for (const { key, batchId, endedAt, durationMs, result, blobs, usage } of tasks) {
      if (usage !== undefined)
        this.insertUsage.run(key, usage.memoryMb ?? null, usage.cpuMs ?? null, usage.durationMs);
      for (const { id, mimeType, bytes } of blobs ?? []) this.insertBlob.run(batchId, id, mimeType, bytes);
      if (result === undefined) {
        this.insertOne.run(key, endedAt, durationMs, null, null);
        continue;
      }
      const preview = beginningOf(result, PREVIEW_LENGTH);
      const bytes = preview.length === result.length ? undefined : Buffer.from(result);
      values.push(key, endedAt, durationMs, bytes?.length ?? Buffer.byteLength(result), toStored(preview));
      if (bytes !== undefined) this.writeParts(key, bytes);
      if (++rows < ROWS) continue;
      this.insertMany.run(...values);
      values = [];
      rows = 0;
    }
    for (let at = 0; at < values.length; at += COLUMNS) this.insertOne.run(...values.slice(at, at + COLUMNS));
    for (const { key, batchId, isCached } of tasks) {
      if (!isCached) continue;
      this.markCached.run(key);
      this.batches.addCached(batchId);
    }
  }

  private writeParts(key: number, bytes: Buffer): void {
    for (let offset = 0; offset < bytes.length; offset += PART_BYTES)
      this.insertResult.run(key, offset / PART_BYTES, bytes.subarray(offset, offset + PART_BYTES));
  }
}

function follows(before: BufferedCompletion, task: BufferedCompletion): boolean {
  return (
    task.key === before.key + 1 && task.startedAt === before.startedAt && task.batchId === before.batchId
  );
}
