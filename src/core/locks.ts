import type { LockDemand } from './demand.ts';
import { dequeue, goesBefore, type Ranked, ReadyQueue } from './ready-queue.ts';

/** An execution that may hold locks and wait for them in rank order. */
export interface LockHolder extends Ranked {
  /** The locks it holds or will hold; undefined for the many that need none. */
  claims: LockClaim[] | undefined;
  readonly level: number;
  /** Holders with the same demand fit, or do not fit, alike. */
  readonly demand: object;
}

export interface LockClaim {
  readonly lock: Lock;
  readonly exclusive: boolean;
}

/** The waiters of one demand, and the one of them that contends again. */
interface LockQueue {
  readonly demand: object;
  readonly waiters: ReadyQueue<LockHolder>;
  candidate: LockHolder | undefined;
}

/**
 * One named lock. Executions that find it taken wait here in order, grouped by demand. When the lock is free for the
 * first of a demand, that one becomes a candidate and contends again for everything it needs. One candidate per demand
 * keeps the cost of a release constant, and a waiter that lacks something else never keeps the lock from the others.
 */
export class Lock {
  exclusiveHolder: LockHolder | undefined;
  readonly sharedHolders = new Set<LockHolder>();
  /** How many claims name it; the lock is dropped with the last one. */
  claims = 0;
  readonly queues: LockQueue[] = [];

  constructor(readonly name: string) {}

  wait(holder: LockHolder): void {
    let queue = this.queueOf(holder);
    if (queue === undefined) {
      queue = { demand: holder.demand, waiters: new ReadyQueue(), candidate: undefined };
      this.queues.push(queue);
    }
    queue.waiters.push(holder, holder.level);
  }

  isAwaitedBy(holder: LockHolder): boolean {
    return holder.home !== undefined && holder.home.queue === this.queueOf(holder)?.waiters;
  }

  noLongerContends(holder: LockHolder): void {
    const queue = this.queueOf(holder);
    if (queue?.candidate === holder) queue.candidate = undefined;
  }

  /** Promotes the first waiter of each demand for which the lock is free. */
  promote(
    isFreeFor: (claim: LockClaim, holder: LockHolder) => boolean,
    promoted: (holder: LockHolder) => void,
  ): void {
    for (let index = this.queues.length - 1; index >= 0; index--) {
      const queue = this.queues[index]!;
      if (queue.candidate !== undefined) continue;
      const next = queue.waiters.peek();
      if (next === undefined) {
        this.queues.splice(index, 1);
      } else if (isFreeFor(this.claimOf(next), next)) {
        dequeue(next);
        queue.candidate = next;
        promoted(next);
      }
    }
  }

  /** Whether a more urgent waiter wants the lock exclusively while others share it. */
  isWantedAlone(before: LockHolder): boolean {
    if (this.sharedHolders.size === 0) return false;
    return this.queues.some(({ waiters }) => {
      const first = waiters.peek();
      return first !== undefined && goesBefore(first, before) && this.claimOf(first).exclusive;
    });
  }

  claimOf(holder: LockHolder): LockClaim {
    return holder.claims!.find((claim) => claim.lock === this)!;
  }

  /** All waiters, in no particular order. */
  *waiting(): Generator<LockHolder> {
    for (const { waiters } of this.queues) yield* waiters;
  }

  /** The most urgent waiter. */
  first(): LockHolder | undefined {
    let best: LockHolder | undefined;
    for (const { waiters } of this.queues) {
      const first = waiters.peek();
      if (first !== undefined && (best === undefined || goesBefore(first, best))) best = first;
    }
    return best;
  }

  /** How many waiters go before the holder. */
  countBefore(holder: LockHolder): number {
    let count = 0;
    for (const { waiters } of this.queues) count += waiters.countBefore(holder);
    return count;
  }

  private queueOf({ demand }: LockHolder): LockQueue | undefined {
    for (const queue of this.queues) if (queue.demand === demand) return queue;
    return undefined;
  }
}

/** All named locks. `promoted` is called for each waiter that contends again. */
export class LockTable {
  private readonly locks = new Map<string, Lock>();
  /** The execution that resources are reserved for: none that goes after it may take its locks. */
  reservedFor: LockHolder | undefined;
  /** Whether that execution resumes: then none that waits may take its locks. */
  isReservedToResume = false;

  constructor(private readonly promoted: (holder: LockHolder) => void = () => {}) {}

  claim(demands: readonly LockDemand[]): LockClaim[] {
    return demands.map(({ name, exclusive }) => {
      let lock = this.locks.get(name);
      if (lock === undefined) {
        lock = new Lock(name);
        this.locks.set(name, lock);
      }
      lock.claims++;
      return { lock, exclusive };
    });
  }

  /** Drops the claims of a holder. It must neither hold nor wait for a lock. */
  forget(holder: LockHolder): void {
    for (const { lock } of holder.claims!) {
      if (--lock.claims === 0) this.locks.delete(lock.name);
    }
    holder.claims = undefined;
  }

  /** The first of its locks that it cannot take now, if any. */
  obstacle(holder: LockHolder): Lock | undefined {
    for (const claim of holder.claims!) if (!this.mayTake(claim, holder)) return claim.lock;
    return undefined;
  }

  isFree({ lock, exclusive }: LockClaim, holder: LockHolder): boolean {
    if (lock.exclusiveHolder !== undefined) return false;
    if (exclusive && lock.sharedHolders.size > 0) return false;
    const reserved = this.reservedFor;
    if (reserved === undefined || reserved === holder || reserved.claims === undefined) return true;
    if (!this.isReservedToResume && goesBefore(holder, reserved)) return true;
    return !reserved.claims.some((other) => other.lock === lock && (other.exclusive || exclusive));
  }

  take(holder: LockHolder): void {
    for (const { lock, exclusive } of holder.claims!) {
      if (exclusive) lock.exclusiveHolder = holder;
      else lock.sharedHolders.add(holder);
    }
    this.noLongerContends(holder);
  }

  release(holder: LockHolder): void {
    for (const { lock, exclusive } of holder.claims!) {
      if (exclusive) lock.exclusiveHolder = undefined;
      else lock.sharedHolders.delete(holder);
    }
    this.promoteNext(holder);
  }

  /** Queues the holder for the lock. It must not be in any queue. */
  wait(holder: LockHolder, lock: Lock): void {
    lock.wait(holder);
    this.noLongerContends(holder);
  }

  /** Call this when a contender started, waits again or is gone. */
  noLongerContends(holder: LockHolder): void {
    for (const { lock } of holder.claims!) lock.noLongerContends(holder);
    this.promoteNext(holder);
  }

  /** Promotes waiters of the holder's locks, where the lock is free for them. */
  promoteNext(holder: LockHolder): void {
    for (const { lock } of holder.claims!) {
      // An exclusively held lock is free for nobody, and there may be many demands to check.
      const isHopeless = lock.queues.length === 0 || lock.exclusiveHolder !== undefined;
      if (!isHopeless) lock.promote(this.mayTake, this.promoted);
    }
  }

  [Symbol.iterator](): Iterator<Lock> {
    return this.locks.values();
  }

  /** Free, and not wanted exclusively by a more urgent waiter: readers must not starve a writer. */
  private readonly mayTake = (claim: LockClaim, holder: LockHolder): boolean => {
    return this.isFree(claim, holder) && (claim.exclusive || !claim.lock.isWantedAlone(holder));
  };
}
