import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite';
import { VolleyError } from '../core/errors.ts';
import type { BatchTable } from './batch-table.ts';
import { Completions } from './completions.ts';
import { keyOf, seqOf } from './keys.ts';
import type { Completion, TaskEnd } from './records.ts';
import { OPEN, RUNNING, statusNumber } from './statuses.ts';
import { toStored, toStoredOrNull } from './text.ts';

/**
 * Notes the starts and ends of tasks. Each method is one write: it checks, then writes. What has completed is kept until
 * the end of the transaction, for many rows are written much faster together than one by one.
 */
export class TaskTable {
  private readonly start: StatementSyncInstance;
  private readonly end: StatementSyncInstance;
  private readonly insertEnd: StatementSyncInstance;
  private readonly status: StatementSyncInstance;
  private readonly completions: Completions;

  constructor(
    writer: DatabaseSyncInstance,
    private readonly batches: BatchTable,
  ) {
    this.start = writer.prepare(
      `UPDATE states SET status = ${RUNNING}, attempts = attempts + 1,
         started_at = coalesce(started_at, ?1), attempt_at = ?1
       WHERE key = ?2 AND status = ?3`,
    );
    this.end = writer.prepare('UPDATE states SET status = ? WHERE key = ? AND status = ?');
    this.insertEnd = writer.prepare(
      `INSERT INTO ends (key, ended_at, duration_ms, reason, code, cause, message)
       VALUES (?, ?, ?, ?, ?, ?, ?)`,
    );
    this.status = writer.prepare('SELECT status FROM states WHERE key = ?');
    this.completions = new Completions(writer, batches, ({ batch, key }) =>
      this.refuse(batch, seqOf(key), key),
    );
  }

  /** A transaction begins. */
  begin(): void {
    this.completions.begin();
  }

  /** Whether so much is kept back that it is a transaction by itself. */
  get isFull(): boolean {
    return this.completions.isFull;
  }

  /** Writes what was kept back, before the transaction is committed. */
  finish(): void {
    this.completions.write();
  }

  /** An attempt starts: the first of an open task, or another one of a running task. */
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

  /** `startedAt`: when the attempt began that ended it, if that was not noted. */
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
        this.insertEnd.run(key, at, ms, null, null, toStoredOrNull(end.cause), null);
    }
  }

  /** Nothing was changed: there is no such task, or it has ended. */
  private refuse(batch: string, seq: number, key: number): never {
    const details = { batch, seq };
    if (this.status.get(key) === undefined) {
      throw new VolleyError(
        'UNKNOWN_TASK',
        `The batch ${JSON.stringify(batch)} has no task number ${seq} (any more).`,
        details,
      );
    }
    throw new VolleyError(
      'TASK_SETTLED',
      `Task number ${seq} of the batch ${JSON.stringify(batch)} has ended already.`,
      details,
    );
  }
}
