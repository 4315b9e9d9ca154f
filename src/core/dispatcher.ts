import { Contest, type Shortage } from './contest.ts';
import { ClassQueue, type DemandClass } from './demand-class.ts';
import type { Execution } from './execution.ts';
import type { Group } from './group.ts';
import type { LockHolder } from './locks.ts';
import type { RateLimit } from './rate.ts';
import { changeRank, dequeue, goesBefore } from './ready-queue.ts';
import { ResourceAccounts } from './resources.ts';
import type { Timed, Timers } from './timers.ts';
import type { Tool } from './tool.ts';

/** How many of those that want their room back a dispatch looks at, so that its cost does not grow with them. */
const MAX_RESUMING = 64;

/** What keeps a class of executions from starting now. */
export type Obstacle =
  | Shortage
  | { readonly kind: 'reservation'; readonly waiters: ClassQueue }
  | Tool
  | Group
  | RateLimit;

/**
 * Decides what starts next. It promises that nothing starts beyond a limit, that what does not fit never keeps out
 * what does, and that whatever has waited long enough gets its turn: room is then kept for it (a reservation) until
 * all it needs is free at the same time.
 *
 * The classes that may fit are looked at in the order of the {@link Contest}.
 */
export class Dispatcher {
  readonly room: Room;
  readonly resources: ResourceAccounts;
  isPaused = false;
  /** For whom room is kept. */
  reserved: Execution | undefined;
  readonly contest = new Contest();
  readonly reservation = { kind: 'reservation', waiters: new ClassQueue(false) } as const;
  /** Those that lent their room and want it back, in order. */
  readonly resuming: Execution[] = [];

  constructor(
    private readonly timers: Timers<Timed>,
    readonly reserveAfterMs: number,
  ) {
    this.room = new Room((holder) => this.enqueue(holder as Execution));
    this.resources = this.room.resources;
  }

  /** Who holds room, in no particular order. */
  get holders(): readonly Execution[] {
    return this.room.holders;
  }

  enqueue(execution: Execution): void {
    execution.demand.queue.push(execution, execution.level);
    this.contest.reorder(execution.demand);
  }

  /** Gives one that waits another rank. */
  rerank(execution: Execution, rank: number): void {
    changeRank(execution, rank, execution.level);
    this.contest.reorder(execution.demand);
    // It may now stand before the one that kept it from a free lock.
    if (execution.claims !== undefined) this.resources.locks.promoteNext(execution);
  }

  /** Takes out one that shall not start any more. */
  withdraw(execution: Execution): void {
    dequeue(execution);
    this.contest.reorder(execution.demand);
    if (execution.claims !== undefined) this.resources.locks.noLongerContends(execution);
    if (execution === this.reserved) this.dropReservation();
  }

  /** Starts whatever fits, the most urgent first. `start` and `resume` must not come back here. */
  dispatch(now: number, start: (execution: Execution) => void, resume: (execution: Execution) => void): void {
    while (this.resuming.length > 0 && this.tryResume(this.resuming[0]!)) resume(this.resuming.shift()!);
    if (this.resuming.length > 1) this.resumeBehindFirst(resume);
    if (this.isPaused) return;
    const reserved = this.reserved;
    if (reserved !== undefined && reserved.room !== 'lent' && this.fitsReserved(reserved, now))
      this.launch(reserved, now, start);
    while (this.resources.hasSlot()) {
      const demand = this.contest.first();
      if (demand === undefined) return;
      const execution = demand.head!;
      const obstacle = this.obstacle(demand, now) ?? this.reservationAgainst(demand);
      if (obstacle !== undefined) {
        const waiters = waitersOf(obstacle, demand);
        this.contest.keepOut(demand, waiters);
        if (obstacle.kind === 'rate') {
          this.timers.set(obstacle, obstacle.allowedAt(now));
        } else {
          const longest = longestWaiting(execution, waiters, this.resources, now - this.reserveAfterMs);
          this.considerReservation(longest, now, start);
        }
        continue;
      }
      const lock = execution.claims === undefined ? undefined : this.resources.locks.obstacle(execution);
      if (lock !== undefined) {
        dequeue(execution);
        this.contest.reorder(demand);
        this.resources.locks.wait(execution, lock);
        this.considerReservation(execution, now, start);
        continue;
      }
      this.launch(execution, now, start);
    }
  }

  /** Gives back the room of an execution and lets those contend again who lacked any of it. */
  release(execution: Execution): void {
    const { needs, tool, group, conflicts } = execution.demand;
    this.room.vacate(execution);
    if (this.contest.keptOut === 0) return;
    // Even if others remain: one that has waited long must be looked at, to have room kept for it.
    for (const other of conflicts) this.contest.wake(other.waiters);
    for (let index = 0; index < needs.length; index++) if (needs[index]! > 0) this.contest.wakeShort(index);
    this.contest.wake(tool.waiters);
    this.contest.wake(group.waiters);
    this.contest.wake(this.reservation.waiters);
  }

  /** Lets a running execution that waits for others give its room to them. */
  lend(execution: Execution): void {
    this.release(execution);
    execution.room = 'lent';
  }

  /** Asks for lent room back; `resume` is called by a later dispatch when it was taken. */
  reclaim(execution: Execution): void {
    if (!this.resuming.includes(execution)) this.resuming.push(execution);
  }

  /** One that asked for its lent room back waits for others again. */
  withdrawReclaim(execution: Execution): void {
    const at = this.resuming.indexOf(execution);
    if (at >= 0) this.resuming.splice(at, 1);
    if (execution === this.reserved) this.dropReservation();
  }

  /** The attempt of one that had lent its room is over. */
  forgetLent(execution: Execution): void {
    execution.room = 'none';
    this.withdrawReclaim(execution);
  }

  /** After limits changed or a pause ended, everything may look different. */
  wakeAll(): void {
    this.contest.wakeAllShort();
    if (this.reserved !== undefined) this.dropReservation();
  }

  /** What keeps the class from starting now, apart from locks and a reservation. */
  obstacle(demand: DemandClass, now: number): Obstacle | undefined {
    // Before all else: what is paused must not stand before others who only need as much.
    if (demand.group.isPaused) return demand.group;
    const short = this.resources.shortage(demand.needs);
    if (short >= 0) return this.contest.shortages[short];
    return this.limitAgainst(demand, now);
  }

  /** A limit of its tool or group, or a conflict, that keeps the class from starting now. */
  limitAgainst(demand: DemandClass, now: number): Tool | Group | RateLimit | undefined {
    const { tool, group } = demand;
    if (tool.running >= tool.maxConcurrency || tool.conflictedBy > 0) return tool;
    if (group.running >= group.maxConcurrency) return group;
    for (const other of demand.conflicts) if (other.running > 0) return other;
    if (tool.rate !== undefined && tool.rate.allowedAt(now) > now) return tool.rate;
    if (group.rate !== undefined && group.rate.allowedAt(now) > now) return group.rate;
    return undefined;
  }

  /** Whether starting one of the class could make the reserved one wait longer. */
  reservationAgainst(demand: DemandClass): Obstacle | undefined {
    if (this.reserved === undefined) return undefined;
    return couldDelay(demand, this.reserved.demand, this.resources) ? this.reservation : undefined;
  }

  private launch(execution: Execution, now: number, start: (execution: Execution) => void): void {
    const { demand } = execution;
    dequeue(execution);
    this.contest.reorder(demand);
    this.room.occupy(execution);
    demand.tool.rate?.record(now);
    demand.group.rate?.record(now);
    if (execution === this.reserved) this.dropReservation();
    start(execution);
  }

  /** Room is kept for the first that cannot resume yet: those behind it may, unless it would wait longer for them. */
  private resumeBehindFirst(resume: (execution: Execution) => void): void {
    const { resuming } = this;
    for (let at = 1; at < resuming.length && at < MAX_RESUMING; at++) {
      const execution = resuming[at]!;
      if (this.reservationAgainst(execution.demand) !== undefined || !this.room.mayResume(execution))
        continue;
      this.room.occupy(execution);
      resuming.splice(at--, 1);
      resume(execution);
    }
  }

  private tryResume(execution: Execution): boolean {
    if (!this.room.mayResume(execution)) {
      if (this.reserved === execution) return false;
      this.reserve(execution);
      // Perhaps it was only kept out by a reservation that has just ended.
      if (!this.room.mayResume(execution)) return false;
    }
    this.room.occupy(execution);
    if (execution === this.reserved) this.dropReservation();
    return true;
  }

  private fitsReserved(execution: Execution, now: number): boolean {
    if (this.obstacle(execution.demand, now) !== undefined) return false;
    return this.room.areLocksFree(execution);
  }

  /** Keeps room for one that has waited long, unless room is being kept for a more urgent one. */
  private considerReservation(
    execution: Execution,
    now: number,
    start: (execution: Execution) => void,
  ): void {
    const reserved = this.reserved;
    if (reserved !== undefined && (reserved.room === 'lent' || !goesBefore(execution, reserved))) return;
    if (!mayReserve(execution, this.resources, now - this.reserveAfterMs)) return;
    this.reserve(execution);
    // Perhaps it was only kept out by the reservation that has just ended, or by the order of those behind a lock.
    if (this.fitsReserved(execution, now)) this.launch(execution, now, start);
  }

  private reserve(execution: Execution): void {
    if (this.reserved !== undefined) this.dropReservation();
    this.reserved = execution;
    this.resources.locks.reservedFor = execution;
  }

  private dropReservation(): void {
    const execution = this.reserved!;
    this.reserved = undefined;
    this.resources.locks.reservedFor = undefined;
    if (execution.claims !== undefined) this.resources.locks.promoteNext(execution);
    this.contest.wake(this.reservation.waiters);
  }
}

/** Where a class waits until the obstacle is out of its way. */
function waitersOf(obstacle: Obstacle, demand: DemandClass): ClassQueue {
  return obstacle.kind === 'resource' ? obstacle.waitersLike(demand) : obstacle.waiters;
}

/** How many classes that are kept out alike are looked at for one that has waited long. */
const MAX_LOOKED_AT = 64;

/** Whether an execution has waited since the given moment or before, and could use the room that is kept for it. */
function mayReserve(execution: Execution, { limits }: ResourceAccounts, since: number): boolean {
  if (execution.since > since) return false;
  const { needs, group } = execution.demand;
  if (group.isPaused || needs.some((need, index) => need > limits[index]!)) return false;
  return !wouldPass(execution);
}

/**
 * For whom room shall be kept, of those that are kept out alike: the one that was looked at, or the most urgent that may
 * have it where that one may not. Otherwise one that has just come, or that nothing can help, would hide all others.
 */
function longestWaiting(
  execution: Execution,
  waiters: ClassQueue,
  resources: ResourceAccounts,
  since: number,
): Execution {
  if (!waiters.mayHoldSince(since) || mayReserve(execution, resources, since)) return execution;
  let best: Execution | undefined;
  let looked = 0;
  for (const { head } of waiters) {
    if (++looked > MAX_LOOKED_AT) break;
    const isBetter = best === undefined || goesBefore(head!, best);
    if (isBetter && mayReserve(head!, resources, since)) best = head;
  }
  if (looked <= MAX_LOOKED_AT) waiters.noteWaits();
  return best ?? execution;
}

/** Whether starting one of the class could make one of the other class, for whom room is kept, wait longer. */
function couldDelay(demand: DemandClass, other: DemandClass, resources: ResourceAccounts): boolean {
  const { used, limits } = resources;
  for (let index = 0; index < demand.needs.length; index++) {
    const own = demand.needs[index]!;
    const kept = other.needs[index]!;
    if (own > 0 && kept > 0 && used[index]! + own + kept > limits[index]!) return true;
  }
  const { tool, group } = demand;
  if (tool === other.tool && (tool.rate !== undefined || tool.running + 2 > tool.maxConcurrency)) return true;
  if (group === other.group && (group.rate !== undefined || group.running + 2 > group.maxConcurrency))
    return true;
  return demand.conflicts.includes(other.tool) || other.conflicts.includes(tool);
}

/** Whether a more urgent one waits for a lock of it: a reservation would pass it, again and again. */
function wouldPass(execution: Execution): boolean {
  if (execution.claims === undefined) return false;
  return execution.claims.some(({ lock }) => {
    const first = lock.first();
    return first !== undefined && goesBefore(first, execution);
  });
}

/** Keeps the books of all that running executions hold: amounts, slots of tools and groups, conflicts and locks. */
class Room {
  readonly resources: ResourceAccounts;
  /** Who holds room, in no particular order; each knows its place. */
  readonly holders: Execution[] = [];

  constructor(lockPromoted: (holder: LockHolder) => void) {
    this.resources = new ResourceAccounts({}, lockPromoted);
  }

  /** Takes all that an execution needs. It must fit. */
  occupy(execution: Execution): void {
    const { needs, tool, group, conflicts } = execution.demand;
    execution.room = 'held';
    const { holders } = this;
    // Not `push`: V8 calls that, where it can do this in place.
    execution.place = holders.length;
    holders[holders.length] = execution;
    this.resources.take(needs);
    tool.running++;
    group.running++;
    for (const other of conflicts) other.conflictedBy++;
    if (execution.claims !== undefined) this.resources.locks.take(execution);
  }

  /** Gives back all that an execution holds. */
  vacate(execution: Execution): void {
    const { needs, tool, group, conflicts } = execution.demand;
    execution.room = 'none';
    const last = this.holders.pop()!;
    if (last !== execution) {
      this.holders[execution.place] = last;
      last.place = execution.place;
    }
    this.resources.giveBack(needs);
    tool.running--;
    group.running--;
    for (const other of conflicts) other.conflictedBy--;
    if (execution.claims !== undefined) this.resources.locks.release(execution);
  }

  areLocksFree(execution: Execution): boolean {
    const { locks } = this.resources;
    return (
      execution.claims === undefined || execution.claims.every((claim) => locks.isFree(claim, execution))
    );
  }

  /** What was running before may go on even if a limit was lowered meanwhile, as soon as nobody else uses it. */
  mayResume(execution: Execution): boolean {
    const { needs, tool, group, conflicts } = execution.demand;
    const { used, limits } = this.resources;
    for (let index = 0; index < needs.length; index++) {
      const need = needs[index]!;
      if (need > 0 && used[index]! > 0 && used[index]! + need > limits[index]!) return false;
    }
    if (tool.running >= tool.maxConcurrency || tool.conflictedBy > 0) return false;
    if (group.running >= group.maxConcurrency || conflicts.some((other) => other.running > 0)) return false;
    return this.areLocksFree(execution);
  }
}
