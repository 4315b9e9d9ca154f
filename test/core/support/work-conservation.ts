import type { Dispatcher } from '../../../src/core/dispatcher.ts';
import type { Execution } from '../../../src/core/execution.ts';
import type { LockTable } from '../../../src/core/locks.ts';
import { goesBefore } from '../../../src/core/ready-queue.ts';
import type { Scheduler } from '../../../src/core/scheduler.ts';

/** Throws if an execution waits although all it needs is free: what does not fit must not keep out what does. */
export function assertNothingFits({ graph, dispatcher }: Scheduler, now: number): void {
  const { resources, reserved, resuming, room } = dispatcher;
  for (const execution of resuming) {
    const isHeldBack = execution !== reserved && dispatcher.couldDelayReserved(execution.demand);
    if (isHeldBack || !room.mayResume(execution)) continue;
    throw new Error(`${execution.id} waits for the room that it had lent although it is free`);
  }
  if (dispatcher.isPaused || !resources.hasSlot()) return;
  for (const execution of graph) {
    if (execution.statusName !== 'queued') continue;
    if (dispatcher.obstacle(execution.demand, now) !== undefined) continue;
    if (isKeptOutByReservation(dispatcher, execution, now)) continue;
    if (isKeptOutByLock(resources.locks, execution)) continue;
    throw new Error(`${execution.id} waits ${placeOf(dispatcher, execution)} although there is room for it`);
  }
}

/** If a reservation keeps out the first of a class, those behind it wait too. */
function isKeptOutByReservation(dispatcher: Dispatcher, execution: Execution, now: number): boolean {
  const { head } = execution.demand;
  const isBehind = head !== undefined && head !== execution && goesBefore(head, execution);
  return [execution, ...(isBehind ? [head] : [])].some(
    (each) => dispatcher.reservationAgainst(each, now) !== undefined,
  );
}

function placeOf({ contest }: Dispatcher, execution: Execution): string {
  const { demand, claims = [] } = execution;
  const at = claims.find(({ lock }) => lock.isAwaitedBy(execution));
  if (at === undefined)
    return [...contest].includes(demand) ? 'as a contender' : 'in a class that is kept out';
  return `for the lock ${at.lock.name}`;
}

/** A lock may be kept for one that goes before and cannot take it yet, so that readers do not starve a writer. */
function isKeptOutByLock(locks: LockTable, execution: Execution): boolean {
  return (execution.claims ?? []).some((claim) => {
    if (!locks.isFree(claim, execution)) return true;
    return [...claim.lock.waiting()].some((other) => {
      if (other === execution || !goesBefore(other, execution)) return false;
      return !locks.isFree(other.claims!.find(({ lock }) => lock === claim.lock)!, other);
    });
  });
}
