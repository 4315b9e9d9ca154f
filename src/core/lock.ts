import { dequeue, goesBefore, type Ranked, ReadyQueue } from './ready-queue.ts';

/** Somebody who may hold locks and wait for them in the order of rank. */
export interface LockHolder extends Ranked {
  /** The locks it holds or will hold; undefined for the many that need none. */
  claims: LockClaim[] | undefined;
  readonly level: number;
  /** Those with the same demand fit or do not fit alike. */
  readonly demand: object;
}

export interface LockClaim {
  readonly lock: Lock;
  readonly exclusive: boolean;
}

/** Those of one demand who wait for a lock, and the one of them that contends again. */
interface LockQueue {
  readonly demand: object;
  readonly waiters: ReadyQueue<LockHolder>;
  candidate: LockHolder | undefined;
}

/**
 * One named lock. Those who found it taken wait here, in order, apart by their demand. When the lock is free for the
 * first of a demand, that one becomes a candidate: it goes back to contend for all it needs. One candidate for each
 * demand keeps the cost of a release constant however many wait, and none that lacks something else keeps the lock
 * from those who do not.
 */
export class Lock {
  exclusiveHolder: LockHolder | undefined;
  readonly sharedHolders = new Set<LockHolder>();
  /** How many claims name it; the lock is forgotten with the last of them. */
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

  /** Makes the first of each demand a candidate for whom the lock is free. */
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

  /** Whether somebody more urgent waits to have the lock alone, while others share it. */
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

  /** Everybody who waits, in no particular order. */
  *waiting(): Generator<LockHolder> {
    for (const { waiters } of this.queues) yield* waiters;
  }

  /** The most urgent of those who wait. */
  first(): LockHolder | undefined {
    let best: LockHolder | undefined;
    for (const { waiters } of this.queues) {
      const first = waiters.peek();
      if (first !== undefined && (best === undefined || goesBefore(first, best))) best = first;
    }
    return best;
  }

  /** How many of those who wait go before; a query for people. */
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
