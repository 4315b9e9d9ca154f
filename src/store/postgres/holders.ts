import { isVisibleTo, livesAsSeenBy, type ProcessIdentity, steadyMs } from '../process-identity.ts';
import type { LeaseHolder } from '../records.ts';
import { batchHeld, leaseLost, unknownBatch } from '../refusals.ts';
import { fromStored, keyOf, lastKeyOf, OPEN, type StoredText } from '../rows.ts';
import type { Lease } from '../store.ts';
import type { Statements } from './connection.ts';
import { toText, toTextOrNull } from './text.ts';
import type { LockedBatch, Transaction } from './transaction.ts';

/** How often a lease is renewed. */
export const HEARTBEAT_MS = 2000;
/** A holder that was not heard of for this long, by the server's clock, has lost its batch to whoever asks for it. */
export const LEASE_MS = 7000;

export interface LeaseRow {
  readonly batch: number;
  readonly epoch: number;
  readonly pid: number;
  readonly host: StoredText;
  readonly boot: StoredText;
  readonly namespace: StoredText | null;
  readonly process_start: StoredText | null;
  readonly since: number;
  readonly seen_at: number;
}

/** A batch that this store has leased. */
export interface Held {
  readonly batch: string;
  readonly batchId: number;
  readonly epoch: number;
  /** When the previous holder was last heard of, if it did not release the batch. */
  readonly lostSeenAt: number | undefined;
  readonly controller: AbortController;
  /** When the lease was last written, by the monotonic clock: it is valid at least so long. */
  renewedAt: number;
}

const TAKE = `
  INSERT INTO leases (batch, epoch, pid, host, boot, namespace, process_start, since, seen_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)
  ON CONFLICT (batch) DO UPDATE SET epoch = excluded.epoch, pid = excluded.pid, host = excluded.host, boot = excluded.boot,
    namespace = excluded.namespace, process_start = excluded.process_start, since = excluded.since, seen_at = excluded.seen_at`;
const NEXT_EPOCH = 'UPDATE batches SET epoch = $2 WHERE id = $1';
const RENEW = `
  UPDATE leases l SET seen_at = $3 FROM unnest($1::bigint[], $2::bigint[]) u (batch, epoch)
  WHERE l.batch = u.batch AND l.epoch = u.epoch RETURNING l.batch`;
const RELEASE = 'DELETE FROM leases WHERE batch = $1 AND epoch = $2';
const RELEASE_ANY = 'DELETE FROM leases WHERE batch = $1';
const END = 'UPDATE batches SET ended_at = $2 WHERE id = $1';
/** The batches that servers run, so that another one continues them; see servers.ts. */
const SERVE = `
  INSERT INTO served (batch) VALUES ($1) ON CONFLICT (batch) DO UPDATE SET takeovers = 0, settled = 0`;
const NO_LONGER_SERVE = 'DELETE FROM served WHERE batch = $1';
const COUNT_TAKEOVER = `
  UPDATE served s SET settled = b.ended, takeovers = CASE WHEN b.ended > s.settled THEN 1 ELSE s.takeovers + 1 END
  FROM (SELECT id, completed + failed + cancelled + skipped AS ended FROM batches) b WHERE s.batch = $1 AND b.id = s.batch`;
/** Items are left out: an open item has an open or running group. */
const HAS_OPEN = `
  SELECT 1 FROM states WHERE status = ${OPEN} AND parent IS NULL AND key BETWEEN $1 AND $2 LIMIT 1`;
const FORGET_REQUESTS = 'DELETE FROM requests WHERE batch = $1';

/**
 * The leases of one store. A lease is a row with an epoch, which grows each time the batch is leased. A holder renews it
 * by the server's clock. Everything that writes to a batch locks it first and then reads its lease, so that a write under
 * an older epoch is refused in its own transaction, whatever the holder believes.
 */
export class Holders {
  private readonly held = new Map<string, Held>();
  /** Batches that another process took over; late writes to them must be rejected. */
  private readonly lost = new Set<string>();
  /** Whether other servers continue what this process leaves behind. */
  isServer = false;

  constructor(
    private readonly self: ProcessIdentity,
    private readonly leaseMs: number,
  ) {}

  get count(): number {
    return this.held.size;
  }

  /**
   * Writes the claim. It holds once it is committed and passed to `keep`. Who continues the run of another process also
   * answers the requests that were made to it.
   */
  async claim(tx: Transaction, batch: string, continues: boolean): Promise<Held> {
    const locked = existing(tx, batch);
    const holder = this.holderOf(locked.lease, tx.now);
    if (holder !== undefined) throw batchHeld(batch, holder);
    const { id: batchId, lease: before } = locked;
    const epoch = locked.epoch + 1;
    const { pid, host, boot, namespace, start } = this.self;
    const identity = [pid, toText(host), toText(boot), toTextOrNull(namespace), toTextOrNull(start)] as const;
    const { statements, now } = tx;
    await Promise.all([
      statements.run(NEXT_EPOCH, batchId, epoch),
      statements.run(TAKE, batchId, epoch, ...identity, now),
      continues
        ? statements.run(COUNT_TAKEOVER, batchId)
        : Promise.all([
            statements.run(FORGET_REQUESTS, batchId),
            statements.run(this.isServer ? SERVE : NO_LONGER_SERVE, batchId),
          ]),
    ]);
    tx.isDirty = true;
    locked.epoch = epoch;
    locked.lease = {
      batch: batchId,
      epoch,
      pid,
      host,
      boot,
      namespace: namespace ?? null,
      process_start: start ?? null,
      since: now,
      seen_at: now,
    };
    return {
      batch,
      batchId,
      epoch,
      lostSeenAt: before?.seen_at,
      controller: new AbortController(),
      // Before the moment that the others count from.
      renewedAt: tx.begunAt,
    };
  }

  /** `write` runs a function in a transaction that has locked the batch. */
  keep(held: Held, write: <T>(apply: (tx: Transaction) => Promise<T>) => Promise<T>): Lease {
    this.held.set(held.batch, held);
    this.lost.delete(held.batch);
    return {
      batch: held.batch,
      epoch: held.epoch,
      lost: held.controller.signal,
      release: () => write((tx) => this.release(tx, held)),
      end: (at, leavesOpen) => write((tx) => this.end(tx, held, at, leavesOpen)),
    };
  }

  /** Renews all leases, and finds those that were taken over. `renewedAt` is a moment before `now` was asked for. */
  async renew(statements: Statements, now: number, renewedAt: number): Promise<void> {
    const all = [...this.held.values()];
    const rows = await statements.rows<{ batch: number }>(
      RENEW,
      all.map(({ batchId }) => batchId),
      all.map(({ epoch }) => epoch),
      now,
    );
    const renewed = new Set(rows.map(({ batch }) => batch));
    for (const held of all) {
      if (renewed.has(held.batchId)) held.renewedAt = renewedAt;
      else this.lose(held);
    }
  }

  /** Gives up leases that could not be renewed in time: another process may have taken them. */
  giveUpExpired(): void {
    for (const held of [...this.held.values()]) if (this.isExpired(held)) this.lose(held);
  }

  private isExpired({ renewedAt }: Held): boolean {
    return steadyMs() - renewedAt >= this.leaseMs;
  }

  /** Finds out whether a locked batch was taken over. Before anything is written to it. */
  notice(tx: Transaction, batch: string): void {
    const held = this.held.get(batch);
    if (held !== undefined && !isHeld(tx, held)) this.lose(held);
  }

  /** Throws if the lease may have ended while a write was under way: what it allows must not begin any more. */
  checkStillHeld(batch: string): void {
    const held = this.held.get(batch);
    if (held !== undefined && this.isExpired(held)) this.lose(held);
    this.checkNotLost(batch);
  }

  /** Throws if this store ran the batch and another took it over, also after it was given back. */
  checkMayRun(tx: Transaction, batch: string): void {
    this.checkNotLost(batch);
    if (!this.isOwn(batch) && tx.find(batch)?.lease !== undefined) throw leaseLost(batch);
  }

  private checkNotLost(batch: string): void {
    if (this.lost.has(batch)) throw leaseLost(batch);
  }

  /** Whether this store runs the batch. */
  isOwn(batch: string): boolean {
    return this.held.has(batch);
  }

  /** Throws if another process runs the batch. */
  checkNotHeldByOthers(tx: Transaction, batch: string, lease: LeaseRow | undefined): void {
    if (this.isOwn(batch)) return;
    const holder = this.holderOf(lease, tx.now);
    if (holder !== undefined) throw batchHeld(batch, holder);
  }

  /** When the process that died while running the batch was last heard of; removes its lease. */
  async takeLost(tx: Transaction, batch: string, locked: LockedBatch): Promise<number | undefined> {
    const held = this.held.get(batch);
    if (held !== undefined) return held.lostSeenAt;
    const seenAt = locked.lease?.seen_at;
    if (seenAt !== undefined) await tx.statements.run(RELEASE_ANY, locked.id);
    locked.lease = undefined;
    return seenAt;
  }

  async releaseAll(tx: Transaction): Promise<void> {
    for (const held of [...this.held.values()]) await this.release(tx, held);
  }

  /**
   * The live holder of a lease. A process that is seen to be gone has lost it at once. One that is there may be cut off from
   * the server, so for it, as for those that cannot be seen, the server's clock tells how long it has been silent.
   */
  holderOf(lease: LeaseRow | undefined, now: number): LeaseHolder | undefined {
    if (lease === undefined || !this.lives(lease, now)) return undefined;
    const { pid, host, since, seen_at: seenAt } = lease;
    return { pid, host: fromStored(host), since, seenAt };
  }

  private lives(lease: LeaseRow, now: number): boolean {
    const other: ProcessIdentity = {
      pid: lease.pid,
      host: fromStored(lease.host),
      boot: fromStored(lease.boot),
      namespace: lease.namespace === null ? undefined : fromStored(lease.namespace),
      start: lease.process_start === null ? undefined : fromStored(lease.process_start),
    };
    // Machines may share a name, so a host of this name that has another boot says nothing.
    const seen = isVisibleTo(this.self, other) ? livesAsSeenBy(this.self, other) : undefined;
    return seen !== false && Math.abs(now - lease.seen_at) < this.leaseMs;
  }

  private async end(tx: Transaction, held: Held, at: number, leavesOpen: boolean): Promise<boolean> {
    // A process that took the batch over reports its own end.
    if (!isHeld(tx, held)) return true;
    const { statements } = tx;
    if (!leavesOpen) {
      const open = await statements.rows(HAS_OPEN, keyOf(held.batchId, 0), lastKeyOf(held.batchId));
      if (open.length > 0) return false;
    }
    await Promise.all([
      statements.run(END, held.batchId, Math.trunc(at)),
      statements.run(NO_LONGER_SERVE, held.batchId),
    ]);
    await this.release(tx, held);
    return true;
  }

  private async release(tx: Transaction, held: Held): Promise<void> {
    const { batch, batchId, epoch } = held;
    if (this.held.get(batch) === held) this.held.delete(batch);
    if ((await tx.statements.run(RELEASE, batchId, epoch)) > 0) tx.isDirty = true;
    const locked = tx.find(batch);
    if (locked?.lease?.epoch === epoch) locked.lease = undefined;
  }

  private lose(held: Held): void {
    if (this.held.get(held.batch) !== held) return;
    this.held.delete(held.batch);
    this.lost.add(held.batch);
    held.controller.abort(leaseLost(held.batch));
  }
}

export function existing(tx: Transaction, batch: string): LockedBatch {
  const locked = tx.find(batch);
  if (locked === undefined) throw unknownBatch(batch);
  return locked;
}

function isHeld(tx: Transaction, { batch, batchId, epoch }: Held): boolean {
  const locked = tx.find(batch);
  return locked?.id === batchId && locked.lease?.epoch === epoch;
}
