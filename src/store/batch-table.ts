import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite';
import { unknownBatch } from './refusals.ts';
import { keyOf, lastKeyOf, OPEN, STATUSES, toStored } from './rows.ts';

interface BatchRow {
  readonly id: number;
  readonly last_seq: number;
}

/**
 * The batch rows, for writes. Counts are stored as numbers: the changes of a transaction are summed up here and written
 * once, at its end.
 */
export class BatchTable {
  private readonly changes = new Map<number, number[]>();
  /** How many results of this transaction came from the cache, by batch. */
  private readonly cached = new Map<number, number>();
  /** Lookups of this transaction. */
  private readonly ids = new Map<string, number>();
  private readonly select: StatementSyncInstance;
  private readonly insert: StatementSyncInstance;
  private readonly number: StatementSyncInstance;
  private readonly count: StatementSyncInstance;
  private readonly countCached: StatementSyncInstance;
  private readonly recountCached: StatementSyncInstance;
  private readonly start: StatementSyncInstance;
  private readonly end: StatementSyncInstance;
  private readonly epoch: StatementSyncInstance;
  private readonly open: StatementSyncInstance;
  private readonly remove: StatementSyncInstance;

  constructor(writer: DatabaseSyncInstance) {
    this.select = writer.prepare('SELECT id, last_seq FROM batches WHERE name = ?');
    this.insert = writer.prepare('INSERT INTO batches (name, created_at) VALUES (?, ?)');
    this.number = writer.prepare('UPDATE batches SET last_seq = ? WHERE id = ?');
    const sums = STATUSES.map((status) => `${status} = ${status} + ?`).join(', ');
    this.count = writer.prepare(`UPDATE batches SET ${sums} WHERE id = ?`);
    this.countCached = writer.prepare('UPDATE batches SET cached = cached + ? WHERE id = ?');
    this.recountCached = writer.prepare(
      'UPDATE batches SET cached = (SELECT count(*) FROM ends WHERE cached = 1 AND key BETWEEN ? AND ?) WHERE id = ?',
    );
    this.start = writer.prepare(
      'UPDATE batches SET started_at = ?, ended_at = NULL, options = ? WHERE id = ?',
    );
    this.end = writer.prepare('UPDATE batches SET ended_at = ? WHERE id = ?');
    this.epoch = writer.prepare('UPDATE batches SET epoch = epoch + 1 WHERE id = ? RETURNING epoch');
    this.open = writer.prepare(
      `SELECT 1 FROM states WHERE status = ${OPEN} AND parent IS NULL AND key BETWEEN ? AND ? LIMIT 1`,
    );
    this.remove = writer.prepare('DELETE FROM batches WHERE id = ?');
  }

  find(name: string): BatchRow | undefined {
    const row = this.select.get(toStored(name)) as BatchRow | undefined;
    if (row !== undefined) this.ids.set(name, row.id);
    return row;
  }

  existing(name: string): BatchRow {
    const row = this.find(name);
    if (row !== undefined) return row;
    throw unknownBatch(name);
  }

  /** The number of a batch, looked up once per transaction; 0 if there is none. */
  knownId(name: string): number {
    return this.ids.get(name) ?? this.find(name)?.id ?? 0;
  }

  findOrCreate(name: string, at: number): BatchRow {
    return (
      this.find(name) ?? { id: Number(this.insert.run(toStored(name), at).lastInsertRowid), last_seq: 0 }
    );
  }

  setLastSeq(id: number, seq: number): void {
    this.number.run(seq, id);
  }

  started(name: string, options: string, at: number): void {
    this.start.run(Math.trunc(at), toStored(options), this.existing(name).id);
  }

  ended(id: number, at: number): void {
    this.end.run(Math.trunc(at), id);
  }

  /** The number of the lease that is being taken. */
  nextEpoch(id: number): number {
    return (this.epoch.get(id) as { epoch: number }).epoch;
  }

  /** Items are left out: an open item has an open or running group. */
  hasOpen(id: number): boolean {
    return this.open.get(keyOf(id, 0), lastKeyOf(id)) !== undefined;
  }

  delete(id: number): void {
    this.changes.delete(id);
    this.cached.delete(id);
    this.ids.clear();
    this.remove.run(id);
  }

  /** Adds to the number of tasks in a status (negative to subtract). */
  changeCount(id: number, status: number, by: number): void {
    let sums = this.changes.get(id);
    if (sums === undefined) {
      sums = STATUSES.map(() => 0);
      this.changes.set(id, sums);
    }
    sums[status]! += by;
  }

  /** Counts a task whose result came from the cache. */
  addCached(id: number): void {
    this.cached.set(id, (this.cached.get(id) ?? 0) + 1);
  }

  /** Counts them again, after completed tasks were removed. */
  recountCachedOf(id: number): void {
    this.recountCached.run(keyOf(id, 0), lastKeyOf(id), id);
    this.cached.delete(id);
  }

  /**
   * Resets at the start of a transaction: other processes may have written, and the last transaction may have been
   * rolled back.
   */
  begin(): void {
    this.changes.clear();
    this.cached.clear();
    this.ids.clear();
  }

  writeCounts(): void {
    for (const [id, sums] of this.changes) this.count.run(...sums, id);
    for (const [id, by] of this.cached) this.countCached.run(by, id);
  }
}
