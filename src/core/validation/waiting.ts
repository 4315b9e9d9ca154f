import type { ClassQueue } from '../class-queue.ts';
import { RESOURCES } from '../demand.ts';
import type { DemandClass } from '../demand-class.ts';
import type { IndexedHeap } from '../heap.ts';
import { goesBefore, type Ranked } from '../ready-queue.ts';
import type { Scheduler } from '../scheduler.ts';
import { Status } from '../status.ts';
import type { Tool } from '../tool.ts';
import type { Census } from './accounts.ts';
import { check, count } from './check.ts';

/** Everything queued stands in one queue, and every queue is looked at or will be woken. */
export function checkQueues(scheduler: Scheduler, { all }: Census): void {
  const { contest, resources } = scheduler.dispatcher;
  const { free, woken } = contest;
  checkHeap(free, (demand) => demand.place, 'those who may fit');
  checkHeap(woken, (queue) => queue.place, 'those who come back as one');
  for (const queue of woken)
    check(queue.firstKey === woken.keyAt(queue.place), 'a queue contends with its first', queue.peek()?.head);
  let standing = 0;
  let keptOut = 0;
  for (const demand of new Set([...all.map((execution) => execution.demand), ...contest])) {
    checkClass(scheduler, demand);
    standing += demand.queue.size;
    if (demand.standsIn !== undefined && demand.standsIn !== free) keptOut++;
  }
  check(contest.keptOut === keptOut, `${keptOut} classes are kept out (${contest.keptOut})`);
  for (const lock of resources.locks) standing += [...lock.waiting()].length;
  const queued = count(all, ({ state }) => state === Status.queued);
  check(standing === queued, `the ${queued} queued ones stand in one queue each (${standing})`);
}

function checkClass(scheduler: Scheduler, demand: DemandClass): void {
  const { free } = scheduler.dispatcher.contest;
  const { queue, head, headRank, standsIn } = demand;
  const waiting = [...queue];
  for (const execution of waiting) check(execution.demand === demand, 'a class queues its own', execution);
  check(waiting.length === queue.size, 'a queue knows its size', head);
  const first = firstOf(waiting);
  check(head === first && queue.peek() === first, 'the head of a class is its most urgent', first);
  check(first === undefined || headRank === first.rank, 'the rank of a class is that of its head', first);
  const isPlaced = (standsIn !== undefined) === (first !== undefined);
  check(isPlaced, 'a class with a queue contends or is kept out', first);
  if (standsIn === undefined) return;
  check([...standsIn][demand.place] === demand, 'a class stands where it says', first);
  check(standsIn.keyAt(demand.place) === headRank, 'a class stands with the rank of its head', first);
  const knowsWaits = !standsIn.isUniform || standsIn.mayHoldSince(head!.since);
  check(knowsWaits, 'those who are kept out alike know since when they wait', first);
  const contends = standsIn === free || standsIn.place >= 0;
  if (!contends) checkKeptOut(scheduler, demand, standsIn);
}

/** Whatever keeps a class out must still be there, or its wake-up was lost. */
function checkKeptOut({ dispatcher }: Scheduler, demand: DemandClass, waiters: ClassQueue): void {
  const { tool, group, needs, head } = demand;
  const { used, limits } = dispatcher.resources;
  checkHeap(waiters, ({ place }) => place, 'those who are kept out');
  const short = dispatcher.contest.shortages.findIndex(
    ({ queues }, index) => queues.get(needs[index]!) === waiters,
  );
  const busy = [tool, ...demand.conflicts].find((other) => other.waiters === waiters);
  const rate = [tool.rate, group.rate].find((limit) => limit?.waiters === waiters);
  if (short >= 0) {
    const isShort = used[short]! + needs[short]! > limits[short]!;
    check(isShort, `what waits for ${RESOURCES[short]} does not fit`, head);
  } else if (busy !== undefined) {
    check(keepsOut(busy, demand), `the tool ${busy.name} keeps out what waits for it`, head);
  } else if (group.waiters === waiters) {
    const isFull = group.isPaused || group.running >= group.maxConcurrency;
    check(isFull, `the group ${group.name} keeps out what waits for it`, head);
  } else if (rate !== undefined) {
    check(rate.timerIndex >= 0, `the rate of ${rate.owner} that others wait for has a timer`, head);
  } else {
    check(dispatcher.reservation.waiters === waiters, 'a class is kept out where it can be woken', head);
    const isAgainst = dispatcher.reservationAgainst(demand) !== undefined;
    check(isAgainst, 'the reservation keeps out what waits for it', head);
  }
}

function keepsOut(tool: Tool, demand: DemandClass): boolean {
  const isBusy = tool.running >= tool.maxConcurrency || tool.conflictedBy > 0;
  if (tool === demand.tool && isBusy) return true;
  return demand.conflicts.includes(tool) && tool.running > 0;
}

/** At most one has room kept for it, and it can use it. */
export function checkReservation({ dispatcher }: Scheduler): void {
  const { reserved, resuming, resources } = dispatcher;
  check(new Set(resuming).size === resuming.length, 'nobody resumes twice', resuming[0]);
  for (const execution of resuming) check(execution.room === 'lent', 'who resumes has lent', execution);
  check(resources.locks.reservedFor === reserved, 'locks are kept for whom room is kept', reserved);
  if (reserved === undefined) return;
  const waits = reserved.state === Status.queued || reserved === resuming[0];
  check(waits, 'room is kept for one that waits', reserved);
  if (reserved.room === 'lent') return;
  check(!reserved.demand.group.isPaused, 'no room is kept for a paused group', reserved);
  const isPossible = reserved.demand.needs.every((need, index) => need <= resources.limits[index]!);
  check(isPossible, 'no room is kept for what the limits rule out', reserved);
}

export function checkHeap<T>(heap: IndexedHeap<T>, placeOf: (item: T) => number, what: string): void {
  let place = 0;
  for (const item of heap) {
    check(placeOf(item) === place, `${what} know their places`);
    const isOrdered = place === 0 || heap.keyAt((place - 1) >> 1) <= heap.keyAt(place);
    check(isOrdered, `${what} are in order`);
    place++;
  }
}

export function firstOf<T extends Ranked>(items: Iterable<T>): T | undefined {
  let best: T | undefined;
  for (const item of items) if (best === undefined || goesBefore(item, best)) best = item;
  return best;
}
