import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite';
import { VolleyError } from '../core/errors.ts';
import type { AttemptWrites } from './attempt-table.ts';
import type { BatchTable } from './batch-table.ts';
import type { Leases } from './leases.ts';
import { type AddedTasks, type NewTask, NO_OPTIONS, type TaskStatus } from './records.ts';
import {
  CANCELLED,
  checkRoomFor,
  FAILED,
  fromStored,
  keyOf,
  lastKeyOf,
  OPEN,
  RUNNING,
  SKIPPED,
  STATUSES,
  type StoredText,
  seqInKey,
  statusNumber,
  toStored,
} from './rows.ts';
import type { Recovery } from './store.ts';
import { isConstraint } from './store-error.ts';
import type { TaskTable } from './task-table.ts';
import type { Steps } from './write-queue.ts';

const TASKS_PER_STEP = 100;
const REOPENED: readonly number[] = [FAILED, CANCELLED, SKIPPED];

/** Changes many tasks, in steps of one transaction. */
export class TaskChanges {
  private readonly keys: StatementSyncInstance;
  private readonly byId: StatementSyncInstance;
  private readonly open: StatementSyncInstance;
  private readonly forgive: StatementSyncInstance;
  private readonly removeEnd: StatementSyncInstance;
  private readonly removeResult: StatementSyncInstance;
  private readonly removeTasks: StatementSyncInstance;
  private readonly removeBlobs: StatementSyncInstance;

  constructor(
    writer: DatabaseSyncInstance,
    private readonly batches: BatchTable,
    private readonly leases: Leases,
    private readonly tasks: TaskTable,
    private readonly attempts: AttemptWrites,
  ) {
    const some = `SELECT key FROM states WHERE status = ? AND key BETWEEN ? AND ? LIMIT ${TASKS_PER_STEP}`;
    this.keys = writer.prepare(some);
    this.byId = writer.prepare(
      'SELECT key, status FROM tasks JOIN states USING (key) WHERE batch = ? AND id = ?',
    );
    this.open = writer.prepare(
      `UPDATE states SET status = ${OPEN}, started_at = NULL, attempt_at = NULL WHERE key = ?`,
    );
    this.forgive = writer.prepare('UPDATE states SET failures = 0 WHERE key = ? AND failures > 0');
    this.removeEnd = writer.prepare('DELETE FROM ends WHERE key = ?');
    this.removeResult = writer.prepare('DELETE FROM results WHERE key = ?');
    this.removeTasks = writer.prepare(`DELETE FROM tasks WHERE key IN (${some})`);
    this.removeBlobs = writer.prepare('DELETE FROM blobs WHERE batch = ?');
  }

  *reopen(batch: string, ids: readonly string[] | undefined): Steps<number> {
    const { id: batchId } = this.batches.existing(batch);
    return ids === undefined
      ? yield* this.reopenAll(batchId)
      : yield* this.reopenThese(batch, batchId, new Set(ids));
  }

  *cancel(batch: string, ids: readonly string[] | undefined, message: string, at: number): Steps<number> {
    const { id: batchId } = this.batches.existing(batch);
    this.leases.checkNotHeldByOthers(batch, batchId);
    let total = 0;
    for (const keys of ids === undefined ? this.pagesOf(batchId, OPEN) : [this.openOf(batchId, ids)]) {
      for (const key of keys)
        this.tasks.ended(batch, seqInKey(key), { status: 'cancelled', message }, at, undefined, undefined);
      total += keys.length;
      yield;
    }
    return total;
  }

  *clear(batch: string, statuses: readonly TaskStatus[] | undefined): Steps<number> {
    const row = this.batches.find(batch);
    if (row === undefined) return 0;
    this.leases.checkNotHeldByOthers(batch, row.id);
    let total = 0;
    for (const status of statuses ?? STATUSES) total += yield* this.remove(row.id, statusNumber(status));
    // Only results of completed tasks refer to them.
    if (statuses === undefined || statuses.includes('completed')) this.removeBlobs.run(row.id);
    // The holder continues with an empty batch.
    if (statuses === undefined && !this.leases.isOwn(row.id)) this.batches.delete(row.id);
    return total;
  }

  private *reopenAll(batchId: number): Steps<number> {
    let total = 0;
    for (const status of REOPENED) {
      for (const keys of this.pagesOf(batchId, status)) {
        for (const key of keys) this.retryOne(batchId, key, status);
        total += keys.length;
        yield;
      }
    }
    return total;
  }

  private *reopenThese(batch: string, batchId: number, ids: ReadonlySet<string>): Steps<number> {
    let total = 0;
    for (const id of ids) {
      const row = this.find(batchId, id);
      if (row === undefined) {
        throw new VolleyError(
          'UNKNOWN_TASK',
          `The batch ${JSON.stringify(batch)} has no task ${JSON.stringify(id)}. Nothing was changed.`,
          { batch, id },
        );
      }
      if (!REOPENED.includes(row.status)) continue;
      this.retryOne(batchId, row.key, row.status);
      total++;
      if (total % TASKS_PER_STEP === 0) yield;
    }
    return total;
  }

  /** Resets the retry count, because the task was reopened explicitly. */
  private retryOne(batchId: number, key: number, before: number): void {
    this.forgive.run(key);
    this.reopenOne(batchId, key, before);
  }

  /** Reopens a task from a status and clears its end. Its failed attempts still count. */
  reopenOne(batchId: number, key: number, before: number): void {
    this.attempts.beforeReopening(key, before);
    this.open.run(key);
    this.removeEnd.run(key);
    this.removeResult.run(key);
    this.batches.changeCount(batchId, before, -1);
    this.batches.changeCount(batchId, OPEN, 1);
  }

  private *remove(batchId: number, status: number): Steps<number> {
    let total = 0;
    for (let removed = -1; removed !== 0; total += removed) {
      removed = this.removeTasks.run(status, keyOf(batchId, 0), lastKeyOf(batchId)).changes;
      this.batches.changeCount(batchId, status, -removed);
      yield;
    }
    return total;
  }

  /** Pages through a status until it is empty; each page must move its tasks out of it. */
  private *pagesOf(batchId: number, status: number): Generator<number[], void, undefined> {
    for (;;) {
      const rows = this.keys.all(status, keyOf(batchId, 0), lastKeyOf(batchId)) as { key: number }[];
      if (rows.length === 0) return;
      yield rows.map(({ key }) => key);
    }
  }

  private openOf(batchId: number, ids: readonly string[]): number[] {
    const rows = [...new Set(ids)].flatMap((id) => this.find(batchId, id) ?? []);
    return rows.filter(({ status }) => status === OPEN).map(({ key }) => key);
  }

  private find(batchId: number, id: string): { key: number; status: number } | undefined {
    return this.byId.get(batchId, toStored(id)) as { key: number; status: number } | undefined;
  }
}

/** The number of rows per statement: calling SQLite costs more than writing a row. */
const ROWS = 20;
const ROW = '(?, ?, ?, ?, ?, ?, ?, ?)';

/** Adds tasks to batches. */
export class TaskAdding {
  private readonly insertOne: StatementSyncInstance;
  private readonly insertMany: StatementSyncInstance;
  private readonly openThem: StatementSyncInstance;

  constructor(
    writer: DatabaseSyncInstance,
    private readonly batches: BatchTable,
  ) {
    const insert = 'INSERT INTO tasks (key, batch, id, name, function, added_at, options, params) VALUES';
    this.insertOne = writer.prepare(`${insert} ${ROW}`);
    this.insertMany = writer.prepare(`${insert} ${new Array<string>(ROWS).fill(ROW).join(', ')}`);
    this.openThem = writer.prepare(
      `INSERT INTO states (key, status, attempts) SELECT key, ${OPEN}, 0 FROM tasks WHERE key BETWEEN ? AND ?`,
    );
  }

  /** Atomic if the caller rolls back when it throws. */
  *add(batch: string, tasks: readonly NewTask[], at: number): Steps<AddedTasks> {
    const { id: batchId, last_seq: lastSeq } = this.batches.findOrCreate(batch, at);
    checkRoomFor(batch, lastSeq, tasks.length);
    for (let done = 0; done < tasks.length; done += TASKS_PER_STEP) {
      if (done > 0) yield;
      const some = tasks.slice(done, done + TASKS_PER_STEP);
      this.addSome(batch, some, keyOf(batchId, lastSeq + done + 1), batchId, at);
    }
    this.batches.setLastSeq(batchId, lastSeq + tasks.length);
    this.batches.changeCount(batchId, OPEN, tasks.length);
    return { firstSeq: lastSeq + 1, lastSeq: lastSeq + tasks.length, addedAt: at };
  }

  private addSome(
    batch: string,
    tasks: readonly NewTask[],
    firstKey: number,
    batchId: number,
    at: number,
  ): void {
    let done = 0;
    try {
      for (; done + ROWS <= tasks.length; done += ROWS) {
        const values: (StoredText | number | null)[] = [];
        for (let row = done; row < done + ROWS; row++)
          addValues(values, tasks[row]!, firstKey + row, batchId, at);
        this.insertMany.run(...values);
      }
    } catch (error) {
      // One of them already exists. The statement wrote nothing, and single rows show which one it is.
      if (!isConstraint(error)) throw error;
    }
    for (; done < tasks.length; done++) this.addOne(batch, tasks[done]!, firstKey + done, batchId, at);
    this.openThem.run(firstKey, firstKey + tasks.length - 1);
  }

  private addOne(batch: string, task: NewTask, key: number, batchId: number, at: number): void {
    try {
      const values: (StoredText | number | null)[] = [];
      addValues(values, task, key, batchId, at);
      this.insertOne.run(...values);
    } catch (error) {
      if (!isConstraint(error)) throw error;
      throw new VolleyError(
        'DUPLICATE_ID',
        `The batch ${JSON.stringify(batch)} already has a task ${JSON.stringify(task.id)}, or the id is given twice. Nothing was added.`,
        { batch, id: task.id },
      );
    }
  }
}

function addValues(
  values: (StoredText | number | null)[],
  { id, name, function: tool, options, params }: NewTask,
  key: number,
  batchId: number,
  at: number,
): void {
  const text = options === NO_OPTIONS ? '{}' : JSON.stringify(options);
  values.push(
    key,
    batchId,
    toStored(id),
    toStored(name),
    toStored(tool),
    at,
    text === '{}' ? null : toStored(text),
    toStored(params),
  );
}

interface RunningRow {
  readonly key: number;
  readonly id: StoredText;
  readonly function: StoredText;
  readonly attempt_at: number | null;
  /** Whether its last attempt failed and the next one had not begun. */
  readonly waits: 0 | 1;
}

type Found = { readonly batch: string; readonly id: string };

/** Recovers tasks whose process died while running them. */
export class Recoverer {
  private readonly suspects: StatementSyncInstance;
  private readonly running: StatementSyncInstance;
  private readonly fail: StatementSyncInstance;

  constructor(
    writer: DatabaseSyncInstance,
    private readonly batches: BatchTable,
    private readonly tasks: TaskTable,
    private readonly changes: TaskChanges,
    private readonly leases: Leases,
  ) {
    this.suspects = writer.prepare('SELECT id, name FROM batches WHERE running > 0 ORDER BY id');
    this.running = writer.prepare(
      `SELECT key, id, function, attempt_at,
         EXISTS (SELECT 1 FROM attempts a WHERE a.key = states.key AND a.attempt = states.attempts) AS waits
       FROM states CROSS JOIN tasks USING (key)
       WHERE status = ${RUNNING} AND key BETWEEN ? AND ? LIMIT ${TASKS_PER_STEP}`,
    );
    this.fail = writer.prepare(`UPDATE states SET status = ${FAILED} WHERE key = ?`);
  }

  /** `only` may be a batch that this store has leased: then nothing may have been started under the lease. */
  *recover(isIdempotent: (name: string) => boolean, only: string | undefined, at: number): Steps<Recovery> {
    const reopened: Found[] = [];
    const crashed: Found[] = [];
    for (const row of this.suspects.all() as { id: number; name: StoredText }[]) {
      const batch = fromStored(row.name);
      if (only !== undefined && batch !== only) continue;
      const isOurs = only !== undefined && this.leases.isOwn(row.id);
      if (!isOurs && this.leases.isRun(row.id)) continue;
      const lastSeenAt = this.leases.takeLost(row.id) ?? at;
      for (let some = this.someOf(row.id); some.length > 0; some = this.someOf(row.id)) {
        for (const task of some) {
          const name = fromStored(task.function);
          const mayRunAgain = task.waits === 1 || isIdempotent(name);
          if (mayRunAgain) this.changes.reopenOne(row.id, task.key, RUNNING);
          else this.markCrashed(row.id, task, name, endOf(task, lastSeenAt, at));
          (mayRunAgain ? reopened : crashed).push({ batch, id: fromStored(task.id) });
        }
        yield;
      }
    }
    return { reopened, crashed };
  }

  private someOf(batchId: number): RunningRow[] {
    return this.running.all(keyOf(batchId, 0), lastKeyOf(batchId)) as RunningRow[];
  }

  private markCrashed(batchId: number, { key }: RunningRow, name: string, at: number): void {
    const end = {
      status: 'failed',
      reason: 'crashed',
      message:
        `The process that ran it ended in the middle of it, and ${name} is not declared idempotent, so it was not ` +
        'run again. Look at what it has done already; retry runs it once more.',
    } as const;
    this.fail.run(key);
    this.tasks.writeEnd(key, end, at);
    this.batches.changeCount(batchId, RUNNING, -1);
    this.batches.changeCount(batchId, FAILED, 1);
  }
}

/** Approximately when it ended, since recovery may run much later. The clock may have been set meanwhile. */
function endOf({ attempt_at }: RunningRow, lastSeenAt: number, now: number): number {
  return Math.trunc(Math.min(Math.max(attempt_at ?? 0, lastSeenAt), now));
}
