import { randomUUID } from 'node:crypto';
import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import { VolleyError } from '../core/errors.ts';
import type { BatchTable } from './batch-table.ts';
import { heldError, LeaseTable, LeaseWrites } from './lease-table.ts';
import type { ProcessIdentity } from './process-identity.ts';
import type { Lease } from './store.ts';

/** What this store holds of one batch. */
interface Held {
  readonly batch: string;
  readonly batchId: number;
  readonly token: string;
  /** When the one was last heard of that held it before and did not give it back. */
  readonly lostSeenAt: number | undefined;
  readonly controller: AbortController;
}

/** The leases of one store: claims, renews and releases them. Everything but `lease` happens inside a transaction. */
export class Leases {
  private readonly table: LeaseTable;
  private readonly writes: LeaseWrites;
  private readonly held = new Map<number, Held>();
  /** Names of batches that others took over; what comes late for them must not be written. */
  private readonly lost = new Set<string>();

  constructor(
    writer: DatabaseSyncInstance,
    self: ProcessIdentity,
    private readonly batches: BatchTable,
    private readonly now: () => number,
  ) {
    this.table = new LeaseTable(writer, self, now);
    this.writes = new LeaseWrites(writer, self);
  }

  get count(): number {
    return this.held.size;
  }

  /** Writes the claim; it holds from the moment at which it is committed, which `keep` must be told. */
  claim(batch: string): Held {
    const { id: batchId } = this.batches.existing(batch);
    const holder = this.table.holderOf(batchId);
    if (holder !== undefined) throw heldError(batch, holder);
    const token = randomUUID();
    const lostSeenAt = this.table.lastSeen(batchId);
    this.writes.claim(batchId, token, this.now());
    return { batch, batchId, token, lostSeenAt, controller: new AbortController() };
  }

  /** `write` runs something in a transaction. */
  keep(held: Held, write: <T>(apply: () => T) => Promise<T>): Lease {
    this.held.set(held.batchId, held);
    this.lost.delete(held.batch);
    return {
      batch: held.batch,
      lost: held.controller.signal,
      release: () => write(() => this.release(held)),
      end: (at, leavesOpen) => write(() => this.end(held, at, leavesOpen)),
    };
  }

  renewAll(): void {
    for (const { batchId, token } of this.held.values()) this.writes.renew(batchId, token, this.now());
  }

  private end(held: Held, at: number, leavesOpen: boolean): boolean {
    const { batchId, token } = held;
    // Another that has taken it over tells of its own end.
    if (!this.writes.isHeld(batchId, token)) return true;
    if (!leavesOpen && this.batches.hasOpen(batchId)) return false;
    this.batches.ended(batchId, at);
    this.release(held);
    return true;
  }

  private release({ batchId, token }: Held): void {
    if (this.held.get(batchId)?.token === token) this.held.delete(batchId);
    this.writes.release(batchId, token);
  }

  releaseAll(): void {
    for (const held of [...this.held.values()]) this.release(held);
  }

  /** At the begin of every transaction: finds out which were taken over, before anything is written under them. */
  noticeLost(): void {
    for (const held of this.held.values()) {
      if (this.writes.isHeld(held.batchId, held.token)) continue;
      this.held.delete(held.batchId);
      this.lost.add(held.batch);
      held.controller.abort(lostError(held.batch));
    }
  }

  /** Throws if this store ran the batch and another took it over. */
  checkNotLost(batch: string): void {
    if (this.lost.has(batch)) throw lostError(batch);
  }

  /** Whether this store runs the batch. */
  isOwn(batchId: number): boolean {
    return this.held.has(batchId);
  }

  /** Throws if somebody else runs the batch. */
  checkNotHeldByOthers(batch: string, batchId: number): void {
    if (this.isOwn(batchId)) return;
    const holder = this.table.holderOf(batchId);
    if (holder !== undefined) throw heldError(batch, holder);
  }

  /** Whether a living process runs the batch that is not this store. */
  isHeldByOthers(batchId: number): boolean {
    return !this.isOwn(batchId) && this.table.holderOf(batchId) !== undefined;
  }

  /** Whether a living process runs the batch, this store included. */
  isRun(batchId: number): boolean {
    return this.isOwn(batchId) || this.table.holderOf(batchId) !== undefined;
  }

  /** When the process was last heard of that died while it ran the batch; what it has left is taken away. */
  takeLost(batchId: number): number | undefined {
    const held = this.held.get(batchId);
    if (held !== undefined) return held.lostSeenAt;
    const seenAt = this.table.lastSeen(batchId);
    this.writes.discard(batchId);
    return seenAt;
  }
}

function lostError(batch: string): VolleyError {
  return new VolleyError(
    'BATCH_HELD',
    `The batch ${JSON.stringify(batch)} was taken over by another process, because this one had not been heard of for too long.`,
    { batch },
  );
}
