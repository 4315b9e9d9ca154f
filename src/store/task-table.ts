import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite';
import { VolleyError } from '../core/errors.ts';
import type { BatchTable } from './batch-table.ts';
import { checkRoomFor, keyOf } from './keys.ts';
import type { NewTask, TaskEnd, TaskRecord } from './records.ts';
import { OPEN, RUNNING, statusNumber } from './statuses.ts';
import { isConstraint } from './store-error.ts';
import { beginningOf, toStored, toStoredOrNull } from './text.ts';
import type { Steps } from './write-queue.ts';

/** The beginning of a result that stands with its task. A result that is no longer stands only there. */
const PREVIEW_LENGTH = 200;
/** Longer results are stored in parts of so many bytes, so that a range can be read without the rest. */
export const PART_BYTES = 64 * 1024;
const TASKS_PER_STEP = 100;

/** Adds tasks, and notes their starts and ends. Each method is one write: it checks, then writes. */
export class TaskTable {
  private readonly insertTask: StatementSyncInstance;
  private readonly insertState: StatementSyncInstance;
  private readonly start: StatementSyncInstance;
  private readonly end: StatementSyncInstance;
  private readonly insertEnd: StatementSyncInstance;
  private readonly insertResult: StatementSyncInstance;
  private readonly status: StatementSyncInstance;

  constructor(
    writer: DatabaseSyncInstance,
    private readonly batches: BatchTable,
  ) {
    this.insertTask = writer.prepare(
      'INSERT INTO tasks (key, batch, id, name, function, added_at, options, params) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    );
    this.insertState = writer.prepare('INSERT INTO states (key, status, attempts) VALUES (?, 0, 0)');
    this.start = writer.prepare(
      `UPDATE states SET status = ${RUNNING}, attempts = attempts + 1, started_at = coalesce(started_at, ?)
       WHERE key = ? AND status = ?`,
    );
    this.end = writer.prepare('UPDATE states SET status = ? WHERE key = ? AND status = ?');
    this.insertEnd = writer.prepare(
      `INSERT INTO ends (key, ended_at, reason, code, cause, result_bytes, preview, message)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.insertResult = writer.prepare('INSERT INTO results (key, part, body) VALUES (?, ?, ?)');
    this.status = writer.prepare('SELECT status FROM states WHERE key = ?');
  }

  /** All or nothing, if whoever runs the steps undoes them when they throw. */
  *add(batch: string, tasks: readonly NewTask[], at: number): Steps<TaskRecord[]> {
    const { id: batchId, last_seq: lastSeq } = this.batches.findOrCreate(batch, at);
    checkRoomFor(batch, lastSeq, tasks.length);
    const records: TaskRecord[] = [];
    for (const task of tasks) {
      const seq = lastSeq + records.length + 1;
      this.addOne(batch, batchId, seq, task, at);
      records.push(newRecord(batch, seq, task, at));
      if (records.length % TASKS_PER_STEP === 0) yield;
    }
    this.batches.setLastSeq(batchId, lastSeq + records.length);
    this.batches.changeCount(batchId, OPEN, records.length);
    return records;
  }

  private addOne(batch: string, batchId: number, seq: number, task: NewTask, at: number): void {
    const key = keyOf(batchId, seq);
    const options = JSON.stringify(task.options);
    try {
      this.insertTask.run(
        key,
        batchId,
        toStored(task.id),
        toStored(task.name),
        toStored(task.function),
        at,
        options === '{}' ? null : toStored(options),
        toStored(task.params),
      );
    } catch (error) {
      if (!isConstraint(error)) throw error;
      throw new VolleyError(
        'DUPLICATE_ID',
        `The batch ${JSON.stringify(batch)} has a task ${JSON.stringify(task.id)} already, or it is given twice. Nothing was added.`,
        { batch, id: task.id },
      );
    }
    this.insertState.run(key);
  }

  /** An attempt starts: the first of an open task, or another one of a running task. */
  started(batch: string, seq: number, at: number): void {
    const batchId = this.batches.knownId(batch);
    const key = keyOf(batchId, seq);
    const time = Math.trunc(at);
    if (this.start.run(time, key, OPEN).changes === 1) {
      this.batches.changeCount(batchId, OPEN, -1);
      this.batches.changeCount(batchId, RUNNING, 1);
      return;
    }
    if (this.start.run(time, key, RUNNING).changes === 0) this.refuse(batch, seq, key);
  }

  ended(batch: string, seq: number, end: TaskEnd, at: number): void {
    const batchId = this.batches.knownId(batch);
    const key = keyOf(batchId, seq);
    const status = statusNumber(end.status);
    let before = RUNNING;
    if (this.end.run(status, key, RUNNING).changes === 0) {
      before = OPEN;
      if (this.end.run(status, key, OPEN).changes === 0) this.refuse(batch, seq, key);
    }
    this.batches.changeCount(batchId, before, -1);
    this.batches.changeCount(batchId, status, 1);
    this.writeEnd(key, end, Math.trunc(at));
  }

  writeEnd(key: number, end: TaskEnd, at: number): void {
    switch (end.status) {
      case 'completed':
        this.writeResult(key, end.result, at);
        return;
      case 'failed': {
        const { reason, code, message } = end;
        this.insertEnd.run(key, at, reason, toStoredOrNull(code), null, null, null, toStored(message));
        return;
      }
      case 'cancelled':
        this.insertEnd.run(key, at, null, null, null, null, null, toStored(end.message));
        return;
      case 'skipped':
        this.insertEnd.run(key, at, null, null, toStoredOrNull(end.cause), null, null, null);
    }
  }

  private writeResult(key: number, result: string, at: number): void {
    const preview = beginningOf(result, PREVIEW_LENGTH);
    const bytes = preview.length === result.length ? undefined : Buffer.from(result);
    const length = bytes?.length ?? Buffer.byteLength(result);
    this.insertEnd.run(key, at, null, null, null, length, toStored(preview), null);
    if (bytes === undefined) return;
    for (let offset = 0; offset < length; offset += PART_BYTES) {
      this.insertResult.run(key, offset / PART_BYTES, bytes.subarray(offset, offset + PART_BYTES));
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

/** Written out: spreading a task into it takes longer than writing it to the file. */
function newRecord(batch: string, seq: number, task: NewTask, addedAt: number): TaskRecord {
  return {
    batch,
    seq,
    id: task.id,
    name: task.name,
    function: task.function,
    params: task.params,
    options: task.options,
    status: 'open',
    attempts: 0,
    addedAt,
    startedAt: undefined,
    endedAt: undefined,
    reason: undefined,
    message: undefined,
    code: undefined,
    cause: undefined,
    resultBytes: undefined,
    preview: undefined,
  };
}
