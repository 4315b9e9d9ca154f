import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite';
import { VolleyError } from '../core/errors.ts';
import type { AttemptWrites } from './attempt-table.ts';
import type { BatchTable } from './batch-table.ts';
import { keyOf, lastKeyOf, seqOf } from './keys.ts';
import type { Leases } from './leases.ts';
import type { TaskStatus } from './records.ts';
import { CANCELLED, FAILED, OPEN, SKIPPED, STATUSES, statusNumber } from './statuses.ts';
import type { TaskTable } from './task-table.ts';
import { toStored } from './text.ts';
import type { Steps } from './write-queue.ts';

const TASKS_PER_STEP = 100;
const REOPENED: readonly number[] = [FAILED, CANCELLED, SKIPPED];

/** Changes of many tasks at once, in steps of one transaction. */
export class TaskChanges {
  private readonly keys: StatementSyncInstance;
  private readonly byId: StatementSyncInstance;
  private readonly open: StatementSyncInstance;
  private readonly forgive: StatementSyncInstance;
  private readonly removeEnd: StatementSyncInstance;
  private readonly removeResult: StatementSyncInstance;
  private readonly removeTasks: StatementSyncInstance;

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
        this.tasks.ended(batch, seqOf(key), { status: 'cancelled', message }, at, undefined, undefined);
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
    // Whoever runs it goes on with an empty batch.
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

  /** Somebody wants it to be tried again, as often as at first. */
  private retryOne(batchId: number, key: number, before: number): void {
    this.forgive.run(key);
    this.reopenOne(batchId, key, before);
  }

  /** Opens a task again that has been in a status, and forgets how it ended. What has failed of it counts on. */
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

  /** Those of a status, which each page must take out of it, until there are no more. */
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
