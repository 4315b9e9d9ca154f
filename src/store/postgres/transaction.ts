import type { FeedBody, FeedTask } from '../feed.ts';
import { steadyMs } from '../process-identity.ts';
import { fromStored, STATUSES, type StoredText } from '../rows.ts';
import type { Statements, Value } from './connection.ts';
import { type FeedRow, IS_FOLLOWED, writeFeed } from './feed-rows.ts';
import type { LeaseRow } from './holders.ts';
import { type ChangedTasks, TaskStates } from './task-states.ts';
import { toText } from './text.ts';

/** A batch that the transaction has locked: nobody else writes to it, its tasks or its lease. */
export interface LockedBatch {
  readonly id: number;
  lastSeq: number;
  epoch: number;
  lease: LeaseRow | undefined;
}

interface BatchRow {
  readonly id: number;
  readonly name: StoredText;
  readonly last_seq: number;
  readonly epoch: number;
}

const LOCK_BATCHES = `
  SELECT id, name, last_seq, epoch FROM batches WHERE name = ANY($1::text[]) ORDER BY id FOR NO KEY UPDATE`;
/** A statement of its own: it must see what was committed while the lock was awaited. */
const READ_LEASES = `
  SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now, (${IS_FOLLOWED}) AS followed, l.*
  FROM batches b LEFT JOIN leases l ON l.batch = b.id WHERE b.name = ANY($1::text[])`;
const LOCK_NEW = 'SELECT id, name, last_seq, epoch FROM batches WHERE name = $1 FOR NO KEY UPDATE';
const ADD_BATCH = `
  INSERT INTO batches (name, created_at) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING id, name, last_seq, epoch`;
const WRITE_COUNTS = `
  UPDATE batches b SET last_seq = u.last_seq, ${STATUSES.map((status) => `${status} = b.${status} + u.${status}`).join(', ')},
    cached = b.cached + u.cached
  FROM unnest($1::bigint[], $2::integer[], ${STATUSES.map((_, index) => `$${index + 3}::integer[]`).join(', ')}, $9::integer[])
    u (id, last_seq, ${STATUSES.join(', ')}, cached) WHERE b.id = u.id`;
const WRITE_VERSION = `
  INSERT INTO writers AS w (id, writes, last) VALUES ($1, 1, $2)
  ON CONFLICT (id) DO UPDATE SET writes = w.writes + 1, last = $2, seen_at = now()`;

function lockedBatch({ id, last_seq: lastSeq, epoch }: BatchRow, lease: LeaseRow | undefined): LockedBatch {
  return { id, lastSeq, epoch, lease };
}

/** A transaction under way: what it has locked and read, and what it has yet to write. */
export class Transaction {
  /** By name. */
  private readonly batches = new Map<string, LockedBatch>();
  private readonly counts = new Map<number, number[]>();
  private readonly cached = new Map<number, number>();
  private readonly tasks = new TaskStates();
  /** Whether there is something to commit. */
  isDirty = false;
  /** By the monotonic clock, before anything was sent. */
  readonly begunAt = steadyMs();
  /** The time that judges leases, when batches were locked. */
  now = 0;
  /** Whether what happens is noted for readers of the feed; undefined before a batch was locked. */
  isFollowed: boolean | undefined;
  private readonly news: FeedRow[] = [];

  constructor(
    readonly statements: Statements,
    /** Judges leases instead of the server's clock. */
    private readonly clock: (() => number) | undefined,
  ) {}

  /** Locks batches in the same order as everybody else, and reads who holds them. */
  async lock(names: readonly string[]): Promise<void> {
    if (names.length === 0) return;
    const texts = names.map(toText);
    const [rows, leases] = await Promise.all([
      this.statements.rows<BatchRow>(LOCK_BATCHES, texts),
      this.statements.rows<LeaseRow & { readonly now: number; readonly followed: boolean }>(
        READ_LEASES,
        texts,
      ),
    ]);
    // The batch of a lease that is not there is null.
    const leaseOf = new Map(leases.map((lease) => [lease.batch, lease]));
    if (leases[0] !== undefined) {
      this.setTime(leases[0].now);
      this.isFollowed = leases[0].followed;
    }
    for (const row of rows) this.batches.set(fromStored(row.name), lockedBatch(row, leaseOf.get(row.id)));
  }

  /** Takes the server's time for leases, unless another clock judges them. */
  setTime(now: number): void {
    this.now = this.clock?.() ?? now;
  }

  find(name: string): LockedBatch | undefined {
    return this.batches.get(name);
  }

  async findOrCreate(name: string, at: number): Promise<LockedBatch> {
    const known = this.batches.get(name);
    if (known !== undefined) return known;
    const [made] = await this.statements.rows<BatchRow>(ADD_BATCH, toText(name), at);
    if (made !== undefined) {
      this.isDirty = true;
      const [row] = await this.statements.rows<{ followed: boolean }>(IS_FOLLOWED);
      this.isFollowed = row!.followed;
      const batch = lockedBatch(made, undefined);
      this.batches.set(name, batch);
      return batch;
    }
    // Another process has made it since the transaction began.
    const [row] = await this.statements.rows<BatchRow>(LOCK_NEW, toText(name));
    if (row === undefined) return this.findOrCreate(name, at);
    const batch = lockedBatch(row, undefined);
    this.batches.set(name, batch);
    return batch;
  }

  /** The batch was deleted. */
  forget(name: string): void {
    const id = this.batches.get(name)?.id;
    this.batches.delete(name);
    if (id === undefined) return;
    this.counts.delete(id);
    this.cached.delete(id);
  }

  /** Adds to the number of tasks in a status (negative to subtract). */
  changeCount(batchId: number, status: number, by: number): void {
    if (by === 0) return;
    let sums = this.counts.get(batchId);
    if (sums === undefined) {
      sums = STATUSES.map(() => 0);
      this.counts.set(batchId, sums);
    }
    sums[status]! += by;
    this.isDirty = true;
  }

  addCached(batchId: number): void {
    this.cached.set(batchId, (this.cached.get(batchId) ?? 0) + 1);
  }

  /** Marks a batch whose last number has changed. */
  touch(batchId: number): void {
    this.changeCount(batchId, 0, 1);
    this.changeCount(batchId, 0, -1);
  }

  /** Adds an entry to the feed, about the batch or about a task, by its key and that of its group. */
  note(
    batch: string,
    body: FeedBody | Omit<FeedTask, 'id'>,
    key: number | null = null,
    parent: number | null = null,
  ): void {
    if (this.isFollowed) this.news.push([toText(batch), key, parent, JSON.stringify(body).slice(1, -1)]);
  }

  /** Whether the feed has something new with this transaction. */
  get hasNews(): boolean {
    return this.news.length > 0;
  }

  /** The tasks that were loaded, for decisions in memory. */
  get states(): TaskStates {
    return this.tasks;
  }

  /** Writes what was decided in memory. */
  async flush(): Promise<void> {
    await Promise.all(this.pending());
  }

  /** Counts the transaction as the given write of its writer, whose row it locks. */
  async count(writer: number, write: number): Promise<void> {
    await this.statements.run(WRITE_VERSION, writer, write);
  }

  /** The same as the last thing. What there is to commit is known when it returns. */
  async finish(): Promise<void> {
    const writes = this.pending();
    if (this.isDirty && this.hasNews) writes.push(writeFeed(this.statements, this.news));
    await Promise.all(writes);
  }

  private pending(): Promise<unknown>[] {
    const changed: ChangedTasks | undefined = this.tasks.take();
    if (changed !== undefined) this.isDirty = true;
    const writes = changed?.write(this.statements) ?? [];
    if (this.counts.size > 0 || this.cached.size > 0) {
      writes.push(this.statements.run(WRITE_COUNTS, ...this.countColumns()));
      this.counts.clear();
      this.cached.clear();
    }
    return writes;
  }

  private countColumns(): Value[] {
    const ids = [...new Set([...this.counts.keys(), ...this.cached.keys()])];
    const lastSeqs = new Map([...this.batches.values()].map(({ id, lastSeq }) => [id, lastSeq]));
    return [
      ids,
      ids.map((id) => lastSeqs.get(id)!),
      ...STATUSES.map((_, status) => ids.map((id) => this.counts.get(id)?.[status] ?? 0)),
      ids.map((id) => this.cached.get(id) ?? 0),
    ];
  }
}
