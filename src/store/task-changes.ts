import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite';
import type { AttemptWrites } from './attempt-table.ts';
import type { BatchTable } from './batch-table.ts';
import type { Leases } from './leases.ts';
import {
  type AddedTasks,
  type Delivery,
  isGroup,
  type NewTask,
  NO_OPTIONS,
  type TaskOptions,
  type TaskStatus,
} from './records.ts';
import { crashedAt, crashedEnd, duplicateId, notReopened, unknownNumber } from './refusals.ts';
import {
  CANCELLED,
  COMPLETED,
  checkRoomFor,
  FAILED,
  fromStored,
  keyOf,
  lastKeyOf,
  OPEN,
  parsedOptions,
  RUNNING,
  SKIPPED,
  STATUSES,
  type StoredText,
  seqInKey,
  statusNumber,
  toStored,
} from './rows.ts';
import type { Recovery, Unsuccessful } from './store.ts';
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
  private readonly removeTopTasks: StatementSyncInstance;
  private readonly topKeys: StatementSyncInstance;
  private readonly groupOf: StatementSyncInstance;
  private readonly optionsRow: StatementSyncInstance;
  private readonly itemKeys: StatementSyncInstance;
  private readonly itemsOfOpenGroups: StatementSyncInstance;
  private readonly groups: StatementSyncInstance;
  private readonly removeItems: StatementSyncInstance;
  private readonly removeBlobs: StatementSyncInstance;
  private readonly addDelivery: StatementSyncInstance;
  private readonly removeDeliveries: StatementSyncInstance;
  private readonly writeLog: StatementSyncInstance;
  private readonly removeLog: StatementSyncInstance;

  constructor(
    writer: DatabaseSyncInstance,
    private readonly batches: BatchTable,
    private readonly leases: Leases,
    private readonly tasks: TaskTable,
    private readonly attempts: AttemptWrites,
  ) {
    const some = `SELECT key FROM states WHERE status = ? AND key BETWEEN ? AND ? LIMIT ${TASKS_PER_STEP}`;
    const someTop = some.replace('LIMIT', 'AND parent IS NULL LIMIT');
    this.keys = writer.prepare(some);
    this.topKeys = writer.prepare(someTop);
    this.byId = writer.prepare(
      'SELECT key, status, parent FROM tasks JOIN states USING (key) WHERE batch = ? AND id = ?',
    );
    this.groupOf = writer.prepare('SELECT key, status, parent FROM states WHERE key = ?');
    this.optionsRow = writer.prepare('SELECT options FROM tasks WHERE key = ?');
    const someItems = `SELECT key FROM states WHERE parent = ? AND status = ? LIMIT ${TASKS_PER_STEP}`;
    this.itemKeys = writer.prepare(someItems);
    this.itemsOfOpenGroups = writer.prepare(
      `SELECT i.key FROM states i JOIN states g ON g.key = i.parent
       WHERE i.status = ? AND g.status = ${OPEN} AND i.key > ? AND i.key <= ? ORDER BY i.key LIMIT ${TASKS_PER_STEP}`,
    );
    this.groups = writer.prepare('SELECT DISTINCT parent AS key FROM states WHERE parent BETWEEN ? AND ?');
    this.addDelivery = writer.prepare('INSERT INTO deliveries (key, position, item, at) VALUES (?, ?, ?, ?)');
    this.writeLog = writer.prepare('INSERT OR REPLACE INTO logs (key, body) VALUES (?, ?)');
    this.removeLog = writer.prepare('DELETE FROM logs WHERE key = ?');
    this.removeDeliveries = writer.prepare('DELETE FROM deliveries WHERE key = ?');
    this.removeItems = writer.prepare(`DELETE FROM tasks WHERE key IN (${someItems})`);
    this.removeTopTasks = writer.prepare(`DELETE FROM tasks WHERE key IN (${someTop})`);
    this.open = writer.prepare(
      `UPDATE states SET status = ${OPEN}, started_at = NULL, attempt_at = NULL, worker = NULL WHERE key = ?`,
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
    const end = { status: 'cancelled', message } as const;
    if (ids === undefined) return yield* this.endOpen(batch, end, at);
    const keys = this.openOf(batchId, ids);
    let total = keys.length;
    for (const key of keys) {
      this.tasks.ended(batch, seqInKey(key), end, at, undefined, undefined);
      total += yield* this.endItems(batch, seqInKey(key), end, at);
    }
    return total;
  }

  /** Ends all open tasks of a batch. */
  *endOpen(batch: string, end: Unsuccessful, at: number): Steps<number> {
    const { id: batchId } = this.batches.existing(batch);
    let total = 0;
    for (const keys of this.pagesOf(batchId, OPEN)) {
      for (const key of keys) this.tasks.ended(batch, seqInKey(key), end, at, undefined, undefined);
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
    if (statuses !== undefined)
      total += yield* this.removeItemsOf(row.id, new Set(statuses.map(statusNumber)));
    const statement = statuses === undefined ? this.removeTasks : this.removeTopTasks;
    for (const status of statuses ?? STATUSES)
      total += yield* this.remove(row.id, statusNumber(status), statement);
    this.batches.recountCachedOf(row.id);
    // Only results of completed tasks refer to them. Items may be left, because their group is.
    if (this.keys.get(COMPLETED, keyOf(row.id, 0), lastKeyOf(row.id)) === undefined)
      this.removeBlobs.run(row.id);
    // The holder continues with an empty batch.
    if (statuses === undefined && !this.leases.isOwn(row.id)) this.batches.delete(row.id);
    return total;
  }

  private *reopenAll(batchId: number): Steps<number> {
    let total = 0;
    for (const status of REOPENED) {
      for (const keys of this.pagesOf(batchId, status, this.topKeys)) {
        for (const key of keys) this.retryOne(batchId, key, status);
        total += keys.length;
        yield;
      }
    }
    for (const status of REOPENED) {
      for (let after = keyOf(batchId, 0); ; yield) {
        const rows = this.itemsOfOpenGroups.all(status, after, lastKeyOf(batchId)) as { key: number }[];
        if (rows.length === 0) break;
        for (const { key } of rows) this.retryOne(batchId, key, status);
        total += rows.length;
        after = rows.at(-1)!.key;
      }
    }
    return total;
  }

  private *reopenThese(batch: string, batchId: number, ids: ReadonlySet<string>): Steps<number> {
    let total = 0;
    for (const id of ids) {
      const row = this.find(batchId, id);
      if (row === undefined) throw notReopened.unknown(batch, id);
      if (!REOPENED.includes(row.status)) continue;
      total += this.reopenGroupOf(batch, batchId, id, row);
      this.retryOne(batchId, row.key, row.status);
      total++;
      if (total % TASKS_PER_STEP === 0) yield;
      total += yield* this.reopenItems(batchId, row.key);
    }
    return total;
  }

  /** Reopens the group of an item that is about to be reopened, and returns the number of reopened tasks. */
  private reopenGroupOf(batch: string, batchId: number, id: string, { parent }: StateRow): 0 | 1 {
    const group = parent === null ? undefined : (this.groupOf.get(parent) as StateRow | undefined);
    if (group === undefined || group.status === OPEN) return 0;
    if (group.status === RUNNING) throw notReopened.groupRuns(batch, id);
    if (this.optionsOf(group.key).program !== undefined) throw notReopened.isCall(batch, id);
    this.forgive.run(group.key);
    this.reopenOne(batchId, group.key, group.status);
    return 1;
  }

  private *reopenItems(batchId: number, group: number): Steps<number> {
    let total = 0;
    for (const status of REOPENED) {
      for (;;) {
        const rows = this.itemKeys.all(group, status) as { key: number }[];
        if (rows.length === 0) break;
        for (const { key } of rows) this.retryOne(batchId, key, status);
        total += rows.length;
        yield;
      }
    }
    return total;
  }

  /** Resets the retry count, because the task was reopened explicitly. */
  private retryOne(batchId: number, key: number, before: number): void {
    if (this.startsOver(key, before)) this.removeAllItems(batchId, key);
    this.forgive.run(key);
    this.reopenOne(batchId, key, before);
  }

  /** Whether a reopened group begins anew: a program, and one that failed although all rounds completed. */
  private startsOver(key: number, before: number): boolean {
    const { program, repeat } = this.optionsOf(key);
    if (program !== undefined) return true;
    if (repeat === undefined || before !== FAILED) return false;
    return REOPENED.every((status) => this.itemKeys.get(key, status) === undefined);
  }

  private removeAllItems(batchId: number, key: number): void {
    this.removeDeliveries.run(key);
    this.removeLog.run(key);
    for (const status of STATUSES.keys()) {
      for (let removed = -1; removed !== 0; ) {
        removed = this.removeItems.run(key, status).changes;
        this.batches.changeCount(batchId, status, -removed);
      }
    }
    this.batches.recountCachedOf(batchId);
  }

  private optionsOf(key: number): TaskOptions {
    const { options } = this.optionsRow.get(key) as { options: StoredText | null };
    return parsedOptions(options);
  }

  logged(batch: string, groupSeq: number, text: string): void {
    this.writeLog.run(keyOf(this.batches.existing(batch).id, groupSeq), toStored(text));
  }

  /** Records the next deliveries to a program. */
  delivered(batch: string, groupSeq: number, before: number, deliveries: readonly Delivery[]): void {
    const key = keyOf(this.batches.existing(batch).id, groupSeq);
    for (const [offset, { index, at }] of deliveries.entries())
      this.addDelivery.run(key, before + offset, index, at);
  }

  /** Ends the open items of a group. */
  *endItems(batch: string, groupSeq: number, end: Unsuccessful, at: number): Steps<number> {
    const group = keyOf(this.batches.existing(batch).id, groupSeq);
    let total = 0;
    for (;;) {
      const rows = this.itemKeys.all(group, OPEN) as { key: number }[];
      if (rows.length === 0) return total;
      for (const { key } of rows) this.tasks.ended(batch, seqInKey(key), end, at, undefined, undefined);
      total += rows.length;
      yield;
    }
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

  /** Removes the items of all groups with one of these statuses. */
  private *removeItemsOf(batchId: number, statuses: ReadonlySet<number>): Steps<number> {
    let total = 0;
    const groups = this.groups.all(keyOf(batchId, 0), lastKeyOf(batchId)) as { key: number }[];
    for (const { key } of groups) {
      const group = this.groupOf.get(key) as StateRow | undefined;
      if (group === undefined || !statuses.has(group.status)) continue;
      for (const status of STATUSES.keys()) {
        for (let removed = -1; removed !== 0; total += removed) {
          removed = this.removeItems.run(key, status).changes;
          this.batches.changeCount(batchId, status, -removed);
          yield;
        }
      }
    }
    return total;
  }

  private *remove(batchId: number, status: number, statement: StatementSyncInstance): Steps<number> {
    let total = 0;
    for (let removed = -1; removed !== 0; total += removed) {
      removed = statement.run(status, keyOf(batchId, 0), lastKeyOf(batchId)).changes;
      this.batches.changeCount(batchId, status, -removed);
      yield;
    }
    return total;
  }

  /** Pages through a status until it is empty; each page must move its tasks out of it. */
  private *pagesOf(
    batchId: number,
    status: number,
    statement = this.keys,
  ): Generator<number[], void, undefined> {
    for (;;) {
      const rows = statement.all(status, keyOf(batchId, 0), lastKeyOf(batchId)) as { key: number }[];
      if (rows.length === 0) return;
      yield rows.map(({ key }) => key);
    }
  }

  private openOf(batchId: number, ids: readonly string[]): number[] {
    const rows = [...new Set(ids)].flatMap((id) => this.find(batchId, id) ?? []);
    const open = rows.filter(({ status }) => status === OPEN);
    // Items first: cancelling their group would cancel them, too.
    return [
      ...open.filter(({ parent }) => parent !== null),
      ...open.filter(({ parent }) => parent === null),
    ].map(({ key }) => key);
  }

  private find(batchId: number, id: string): StateRow | undefined {
    return this.byId.get(batchId, toStored(id)) as StateRow | undefined;
  }
}

interface StateRow {
  readonly key: number;
  readonly status: number;
  /** The key of its group. */
  readonly parent: number | null;
}

/** The number of rows per statement: calling SQLite costs more than writing a row. */
const ROWS = 20;
const ROW = '(?, ?, ?, ?, ?, ?, ?, ?)';

/** Adds tasks to batches. */
export class TaskAdding {
  private readonly insertOne: StatementSyncInstance;
  private readonly insertMany: StatementSyncInstance;
  private readonly openThem: StatementSyncInstance;
  private readonly known: StatementSyncInstance;

  constructor(
    writer: DatabaseSyncInstance,
    private readonly batches: BatchTable,
  ) {
    const insert = 'INSERT INTO tasks (key, batch, id, name, function, added_at, options, params) VALUES';
    this.insertOne = writer.prepare(`${insert} ${ROW}`);
    this.insertMany = writer.prepare(`${insert} ${new Array<string>(ROWS).fill(ROW).join(', ')}`);
    this.known = writer.prepare('SELECT 1 FROM states WHERE key = ?');
    this.openThem = writer.prepare(
      `INSERT INTO states (key, status, attempts, parent)
       SELECT key, ${OPEN}, 0, ? FROM tasks WHERE key BETWEEN ? AND ?`,
    );
  }

  /** Atomic if the caller rolls back when it throws. */
  *add(batch: string, tasks: readonly NewTask[], at: number, groupSeq?: number): Steps<AddedTasks> {
    const { id: batchId, last_seq: lastSeq } = this.batches.findOrCreate(batch, at);
    const parent = groupSeq === undefined ? null : this.groupKey(batch, batchId, groupSeq);
    checkRoomFor(batch, lastSeq, tasks.length);
    for (let done = 0; done < tasks.length; done += TASKS_PER_STEP) {
      if (done > 0) yield;
      const some = tasks.slice(done, done + TASKS_PER_STEP);
      const firstKey = keyOf(batchId, lastSeq + done + 1);
      this.addSome(batch, some, firstKey, batchId, at);
      this.openThem.run(parent, firstKey, firstKey + some.length - 1);
    }
    this.batches.setLastSeq(batchId, lastSeq + tasks.length);
    this.batches.changeCount(batchId, OPEN, tasks.length);
    return { firstSeq: lastSeq + 1, lastSeq: lastSeq + tasks.length, addedAt: at };
  }

  private groupKey(batch: string, batchId: number, seq: number): number {
    const key = keyOf(batchId, seq);
    if (this.known.get(key) !== undefined) return key;
    throw unknownNumber(batch, seq);
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
  }

  private addOne(batch: string, task: NewTask, key: number, batchId: number, at: number): void {
    try {
      const values: (StoredText | number | null)[] = [];
      addValues(values, task, key, batchId, at);
      this.insertOne.run(...values);
    } catch (error) {
      if (!isConstraint(error)) throw error;
      throw duplicateId(batch, task.id);
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
  readonly options: StoredText | null;
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
      `SELECT key, id, function, options, attempt_at,
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
          const mayRunAgain = task.waits === 1 || isIdempotent(name) || isGroup(parsedOptions(task.options));
          if (mayRunAgain) this.changes.reopenOne(row.id, task.key, RUNNING);
          else this.markCrashed(row.id, task, name, crashedAt(task.attempt_at, lastSeenAt, at));
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
    this.fail.run(key);
    this.tasks.writeEnd(key, crashedEnd(name), at);
    this.batches.changeCount(batchId, RUNNING, -1);
    this.batches.changeCount(batchId, FAILED, 1);
  }
}
