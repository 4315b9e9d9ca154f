import type { LockDemand } from './demand.ts';
import { Lock, type LockClaim, type LockHolder } from './lock.ts';

/** All named locks. `promoted` hears of each waiter that shall contend again. */
export class LockTable {
  private readonly locks = new Map<string, Lock>();
  /** For whom room is being kept: nobody else may take what it claims. */
  reservedFor: LockHolder | undefined;

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

  /** Gives up the claims of one that will never hold them again. It must neither hold nor wait any more. */
  forget(holder: LockHolder): void {
    for (const { lock } of holder.claims!) {
      if (--lock.claims === 0) this.locks.delete(lock.name);
    }
    holder.claims = undefined;
  }

  /** The first of its locks that it cannot take now, or undefined. */
  obstacle(holder: LockHolder): Lock | undefined {
    for (const claim of holder.claims!) if (!this.mayTake(claim, holder)) return claim.lock;
    return undefined;
  }

  isFree({ lock, exclusive }: LockClaim, holder: LockHolder): boolean {
    if (lock.exclusiveHolder !== undefined) return false;
    if (exclusive && lock.sharedHolders.size > 0) return false;
    const reserved = this.reservedFor;
    if (reserved === undefined || reserved === holder || reserved.claims === undefined) return true;
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

  /** Lets it wait for the lock. It must not be in any queue. */
  wait(holder: LockHolder, lock: Lock): void {
    lock.wait(holder);
    this.noLongerContends(holder);
  }

  /** Call it when one that contended has started, waits again or is gone. */
  noLongerContends(holder: LockHolder): void {
    for (const { lock } of holder.claims!) lock.noLongerContends(holder);
    this.promoteNext(holder);
  }

  /** Lets those contend again who wait for one of the locks that the holder claims, where it is free for them. */
  promoteNext(holder: LockHolder): void {
    for (const { lock } of holder.claims!) {
      // While one has it alone it is free for nobody, and there may be many demands to ask for.
      const isHopeless = lock.queues.length === 0 || lock.exclusiveHolder !== undefined;
      if (!isHopeless) lock.promote(this.mayTake, this.promoted);
    }
  }

  [Symbol.iterator](): Iterator<Lock> {
    return this.locks.values();
  }

  /** Free, and not about to be taken alone by one who goes before: readers must not starve a writer. */
  private readonly mayTake = (claim: LockClaim, holder: LockHolder): boolean => {
    return this.isFree(claim, holder) && (claim.exclusive || !claim.lock.isWantedAlone(holder));
  };
}
