import { randomUUID } from 'node:crypto';
import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite';
import type { BatchTable } from './batch-table.ts';
import { livesAsSeenBy, type ProcessIdentity, steadyMs } from './process-identity.ts';
import type { LeaseHolder } from './records.ts';
import { batchHeld, leaseLost } from './refusals.ts';
import { fromStored, type StoredText, toStored } from './rows.ts';
import type { Lease } from './store.ts';

/** A batch that this store has leased. */
interface Held {
  readonly batch: string;
  readonly batchId: number;
  readonly epoch: number;
  readonly token: string;
  /** When the previous holder was last heard of, if it did not release the batch. */
  readonly lostSeenAt: number | undefined;
  readonly controller: AbortController;
}

/** Claims, renews and releases the leases of one store. Everything but `lease` happens inside a transaction. */
export class Leases {
  private readonly table: LeaseTable;
  private readonly insert: StatementSyncInstance;
  private readonly update: StatementSyncInstance;
  private readonly remove: StatementSyncInstance;
  private readonly removeAny: StatementSyncInstance;
  private readonly token: StatementSyncInstance;
  private readonly held = new Map<number, Held>();
  /** Batches that another process took over; late writes to them must be rejected. */
  private readonly lost = new Set<string>();

  constructor(
    writer: DatabaseSyncInstance,
    private readonly self: ProcessIdentity,
    private readonly batches: BatchTable,
    private readonly now: () => number,
  ) {
    this.table = new LeaseTable(writer, self, now);
    this.insert = writer.prepare(
      `INSERT OR REPLACE INTO leases
         (batch, token, pid, host, boot, namespace, process_start, since, seen_at, beat)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.update = writer.prepare('UPDATE leases SET seen_at = ?, beat = ? WHERE batch = ? AND token = ?');
    this.remove = writer.prepare('DELETE FROM leases WHERE batch = ? AND token = ?');
    this.removeAny = writer.prepare('DELETE FROM leases WHERE batch = ?');
    this.token = writer.prepare('SELECT 1 FROM leases WHERE batch = ? AND token = ?');
  }

  get count(): number {
    return this.held.size;
  }

  /** Writes the claim. It holds once it is committed and passed to `keep`. */
  claim(batch: string): Held {
    const { id: batchId } = this.batches.existing(batch);
    const holder = this.table.holderOf(batchId);
    if (holder !== undefined) throw batchHeld(batch, holder);
    const token = randomUUID();
    const lostSeenAt = this.table.lastSeen(batchId);
    const epoch = this.batches.nextEpoch(batchId);
    const at = this.now();
    const { pid, host, boot, namespace = null, start = null } = this.self;
    this.insert.run(batchId, token, pid, toStored(host), boot, namespace, start, at, at, steadyMs());
    return { batch, batchId, epoch, token, lostSeenAt, controller: new AbortController() };
  }

  /** `write` runs a function in a transaction. */
  keep(held: Held, write: <T>(apply: () => T) => Promise<T>): Lease {
    this.held.set(held.batchId, held);
    this.lost.delete(held.batch);
    return {
      batch: held.batch,
      epoch: held.epoch,
      lost: held.controller.signal,
      release: () => write(() => this.release(held)),
      end: (at, leavesOpen) => write(() => this.end(held, at, leavesOpen)),
    };
  }

  renewAll(): void {
    for (const { batchId, token } of this.held.values())
      this.update.run(this.now(), steadyMs(), batchId, token);
  }

  private end(held: Held, at: number, leavesOpen: boolean): boolean {
    const { batchId, token } = held;
    // A process that took the batch over reports its own end.
    if (!this.isHeld(batchId, token)) return true;
    if (!leavesOpen && this.batches.hasOpen(batchId)) return false;
    this.batches.ended(batchId, at);
    this.release(held);
    return true;
  }

  private release({ batchId, token }: Held): void {
    if (this.held.get(batchId)?.token === token) this.held.delete(batchId);
    this.remove.run(batchId, token);
  }

  releaseAll(): void {
    for (const held of [...this.held.values()]) this.release(held);
  }

  private isHeld(batchId: number, token: string): boolean {
    return this.token.get(batchId, token) !== undefined;
  }

  /** Finds leases that were taken over. Runs at the start of every transaction, before anything is written. */
  noticeLost(): void {
    for (const held of this.held.values()) {
      if (this.isHeld(held.batchId, held.token)) continue;
      this.held.delete(held.batchId);
      this.lost.add(held.batch);
      held.controller.abort(leaseLost(held.batch));
    }
  }

  /** Throws if this store ran the batch and another took it over. */
  checkNotLost(batch: string): void {
    if (this.lost.has(batch)) throw leaseLost(batch);
  }

  /** Whether this store runs the batch. */
  isOwn(batchId: number): boolean {
    return this.held.has(batchId);
  }

  /** Throws if another process runs the batch. */
  checkNotHeldByOthers(batch: string, batchId: number): void {
    if (this.isOwn(batchId)) return;
    const holder = this.table.holderOf(batchId);
    if (holder !== undefined) throw batchHeld(batch, holder);
  }

  /** Whether a live process other than this store runs the batch. */
  isHeldByOthers(batchId: number): boolean {
    return !this.isOwn(batchId) && this.table.holderOf(batchId) !== undefined;
  }

  /** Whether a live process runs the batch, including this store. */
  isRun(batchId: number): boolean {
    return this.isOwn(batchId) || this.table.holderOf(batchId) !== undefined;
  }

  /** When the process that died while running the batch was last heard of; removes its lease. */
  takeLost(batchId: number): number | undefined {
    const held = this.held.get(batchId);
    if (held !== undefined) return held.lostSeenAt;
    const seenAt = this.table.lastSeen(batchId);
    this.removeAny.run(batchId);
    return seenAt;
  }
}

/** A holder that cannot be seen from here counts as dead after this much silence. */
const SILENCE_MS = 30_000;

interface LeaseRow {
  readonly token: string;
  readonly pid: number;
  readonly host: StoredText;
  readonly boot: string;
  readonly namespace: string | null;
  readonly process_start: string | null;
  readonly since: number;
  readonly seen_at: number;
  readonly beat: number;
}

/** The lease rows, for one connection. */
export class LeaseTable {
  private readonly select: StatementSyncInstance;

  constructor(
    connection: DatabaseSyncInstance,
    private readonly self: ProcessIdentity,
    private readonly now: () => number,
  ) {
    this.select = connection.prepare('SELECT * FROM leases WHERE batch = ?');
  }

  /** The live holder of a batch. */
  holderOf(batchId: number): (LeaseHolder & { readonly token: string }) | undefined {
    const row = this.select.get(batchId) as LeaseRow | undefined;
    if (row === undefined || !this.lives(row)) return undefined;
    const { token, pid, since, seen_at: seenAt } = row;
    return { token, pid, host: fromStored(row.host), since, seenAt };
  }

  /** When the holder of a batch was last heard of, whether it is alive or not. */
  lastSeen(batchId: number): number | undefined {
    return (this.select.get(batchId) as LeaseRow | undefined)?.seen_at;
  }

  /**
   * Whether a visible process is alive is certain, whatever the clocks say. For others on this system, the monotonic
   * clock shows how long they have been silent; for other systems only the wall clock does, in either direction it may
   * have jumped.
   */
  private lives(row: LeaseRow): boolean {
    const seen = livesAsSeenBy(this.self, {
      pid: row.pid,
      host: fromStored(row.host),
      boot: row.boot,
      namespace: row.namespace ?? undefined,
      start: row.process_start ?? undefined,
    });
    if (seen !== undefined) return seen;
    const silenceMs =
      row.boot === this.self.boot ? steadyMs() - row.beat : Math.abs(this.now() - row.seen_at);
    return silenceMs >= 0 && silenceMs < SILENCE_MS;
  }
}
