import type { Execution } from '../execution.ts';
import type { Lock, LockClaim, LockHolder } from '../lock.ts';
import type { Scheduler } from '../scheduler.ts';
import type { Census } from './accounts.ts';
import { check, count } from './check.ts';
import { firstOf } from './waiting.ts';

/** Who holds a lock, who waits for it, and that nobody waits for one that is free. */
export function checkLocks({ dispatcher }: Scheduler, { all, holding }: Census): void {
  const { locks } = dispatcher.resources;
  const known = new Set(locks);
  for (const execution of all) {
    for (const { lock } of execution.claims ?? []) {
      check(known.has(lock), `the lock ${lock.name} that is claimed is known`, execution);
    }
  }
  for (const lock of known) {
    const claims = count(all, (execution) => claimOn(lock, execution) !== undefined);
    check(claims > 0 && lock.claims === claims, `the lock ${lock.name} counts its claims`);
    checkHolders(lock, holding);
    checkWaiters(lock, (first) => locks.isFree(claimOn(lock, first)!, first));
  }
}

function claimOn(lock: Lock, { claims }: LockHolder): LockClaim | undefined {
  return claims?.find((claim) => claim.lock === lock);
}

function checkHolders(lock: Lock, holding: readonly Execution[]): void {
  const { name, exclusiveHolder, sharedHolders } = lock;
  const holders = holding.filter((execution) => claimOn(lock, execution) !== undefined);
  const exclusive = holders.find((execution) => claimOn(lock, execution)!.exclusive);
  check(exclusiveHolder === exclusive, `the lock ${name} knows its exclusive holder`, exclusive);
  check(exclusive === undefined || holders.length === 1, `the lock ${name} is exclusive`, exclusive);
  const shared: readonly LockHolder[] = exclusive === undefined ? holders : [];
  const isSame = sharedHolders.size === shared.length && shared.every((holder) => sharedHolders.has(holder));
  check(isSame, `the lock ${name} knows its shared holders`);
}

function checkWaiters(lock: Lock, isFreeFor: (holder: LockHolder) => boolean): void {
  const { name } = lock;
  for (const { demand, waiters, candidate } of lock.queues) {
    for (const waiter of waiters) {
      const belongs = claimOn(lock, waiter) !== undefined && waiter.demand === demand;
      check(belongs, `who waits for the lock ${name} claims it`, waiter as Execution);
    }
    const first = firstOf(waiters) as Execution | undefined;
    check(waiters.peek() === first, `the most urgent who waits for the lock ${name} is its first`, first);
    if (candidate !== undefined) {
      const { home, demand: own } = candidate as Execution;
      const contends = home !== undefined && (home.queue as unknown) === own.queue;
      check(contends && claimOn(lock, candidate) !== undefined, `the candidate of the lock ${name} contends`);
    } else if (first !== undefined) {
      const isKept = !claimOn(lock, first)!.exclusive && lock.isWantedAlone(first);
      check(isKept || !isFreeFor(first), `somebody is told when the lock ${name} is free`, first);
    }
  }
}
