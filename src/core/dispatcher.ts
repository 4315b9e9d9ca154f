import { Contest, type Shortage } from './contest.ts';
import { ClassQueue, type DemandClass } from './demand-class.ts';
import type { Execution } from './execution.ts';
import type { Group } from './group.ts';
import type { LockHolder } from './locks.ts';
import type { RateLimit } from './rate.ts';
import { changeRank, dequeue, goesBefore } from './ready-queue.ts';
import { ResourceAccounts } from './resources.ts';
import type { Timed, Timers } from './timers.ts';
import type { ToolState } from './tool.ts';

/** The most resuming executions a dispatch inspects, so that its cost stays bounded. */
const MAX_RESUMING = 64;

/** What blocks a class of executions from starting now. */
export type Obstacle =
  | Shortage
  | { readonly kind: 'reservation'; readonly waiters: ClassQueue }
  | ToolState
  | Group
  | RateLimit;

/**
 * Decides what starts next. It guarantees that no limit is exceeded, that an execution that does not fit never blocks
 * one that does, and that nothing starves: after a long enough wait, resources are reserved for an execution until
 * everything it needs is free at once.
 *
 * Classes that may fit are tried in the order of the {@link Contest}.
 */
export class Dispatcher {
  readonly room: Room;
  readonly resources: ResourceAccounts;
  isPaused = false;
  /** The execution that resources are reserved for. */
  reserved: Execution | undefined;
  readonly contest = new Contest();
  readonly reservation = { kind: 'reservation', waiters: new ClassQueue(false) } as const;
  /** Executions that lent their resources and want them back, in order. */
  readonly resuming: Execution[] = [];

  constructor(
    private readonly timers: Timers<Timed>,
    readonly reserveAfterMs: number,
  ) {
    this.room = new Room((holder) => this.enqueue(holder as Execution));
    this.resources = this.room.resources;
  }

  /** The executions that hold resources, in no particular order. */
  get holders(): readonly Execution[] {
    return this.room.holders;
  }

  enqueue(execution: Execution): void {
    execution.demand.queue.push(execution, execution.level);
    this.contest.reorder(execution.demand);
  }

  /** Changes the rank of a waiting execution. */
  rerank(execution: Execution, rank: number): void {
    changeRank(execution, rank, execution.level);
    this.contest.reorder(execution.demand);
    // It may now go before the execution that blocked it from a free lock.
    if (execution.claims !== undefined) this.resources.locks.promoteNext(execution);
  }

  /** Removes an execution that will not start. */
  withdraw(execution: Execution): void {
    dequeue(execution);
    this.contest.reorder(execution.demand);
    if (execution.claims !== undefined) this.resources.locks.noLongerContends(execution);
    if (execution === this.reserved) this.dropReservation();
  }

  /** Starts everything that fits, most urgent first. `start` and `resume` must not call the dispatcher. */
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

  /** Releases an execution's resources and wakes the classes that were short of them. */
  release(execution: Execution): void {
    const { needs, tool, group, conflicts } = execution.demand;
    this.room.vacate(execution);
    if (this.contest.keptOut === 0) return;
    // Even if other conflicting executions still run: an execution that waited long must be considered for a
    // reservation.
    for (const other of conflicts) this.contest.wake(other.waiters);
    for (let index = 0; index < needs.length; index++) if (needs[index]! > 0) this.contest.wakeShort(index);
    this.contest.wake(tool.waiters);
    this.contest.wake(group.waiters);
    this.contest.wake(this.reservation.waiters);
  }

  /** Frees the resources of a running execution while it waits for others. */
  lend(execution: Execution): void {
    this.release(execution);
    execution.room = 'lent';
  }

  /** Requests lent resources back. A later dispatch calls `resume` once they are taken. */
  reclaim(execution: Execution): void {
    if (!this.resuming.includes(execution)) this.resuming.push(execution);
  }

  /** Cancels the request for lent resources, because the execution waits for others again. */
  withdrawReclaim(execution: Execution): void {
    const at = this.resuming.indexOf(execution);
    if (at >= 0) this.resuming.splice(at, 1);
    if (execution === this.reserved) this.dropReservation();
  }

  /** Cleans up after an attempt that ended while its resources were lent. */
  forgetLent(execution: Execution): void {
    execution.room = 'none';
    this.withdrawReclaim(execution);
  }

  /** Reconsiders everything after limits changed or a pause ended. */
  wakeAll(): void {
    this.contest.wakeAllShort();
    if (this.reserved !== undefined) this.dropReservation();
  }

  /** What blocks the class now, apart from locks and a reservation. */
  obstacle(demand: DemandClass, now: number): Obstacle | undefined {
    // Checked first: a paused class must not represent others that merely need the same amount.
    if (demand.group.isPaused) return demand.group;
    const short = this.resources.shortage(demand.needs);
    if (short >= 0) return this.contest.shortages[short];
    return this.limitAgainst(demand, now);
  }

  /** The tool limit, group limit or conflict that blocks the class now. */
  limitAgainst(demand: DemandClass, now: number): ToolState | Group | RateLimit | undefined {
    const { tool, group } = demand;
    if (tool.running >= tool.maxConcurrency || tool.conflictedBy > 0) return tool;
    if (group.running >= group.maxConcurrency) return group;
    for (const other of demand.conflicts) if (other.running > 0) return other;
    if (tool.rate !== undefined && tool.rate.allowedAt(now) > now) return tool.rate;
    if (group.rate !== undefined && group.rate.allowedAt(now) > now) return group.rate;
    return undefined;
  }

  /** Returns the reservation if starting one of the class could delay the reserved execution. */
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

  /**
   * Resources are reserved for the first execution that cannot resume. Later ones may resume unless that would delay
   * it.
   */
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
      // It may have been blocked only by the reservation that just ended.
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

  /** Reserves resources for an execution that waited long, unless a more urgent one has the reservation. */
  private considerReservation(
    execution: Execution,
    now: number,
    start: (execution: Execution) => void,
  ): void {
    const reserved = this.reserved;
    if (reserved !== undefined && (reserved.room === 'lent' || !goesBefore(execution, reserved))) return;
    if (!mayReserve(execution, this.resources, now - this.reserveAfterMs)) return;
    this.reserve(execution);
    // It may have been blocked only by the reservation that just ended, or by the order of a lock's queue.
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

/** The queue in which a class waits for the obstacle to go away. */
function waitersOf(obstacle: Obstacle, demand: DemandClass): ClassQueue {
  return obstacle.kind === 'resource' ? obstacle.waitersLike(demand) : obstacle.waiters;
}

/** The most blocked classes inspected to find one that waited long. */
const MAX_INSPECTED = 64;

/** Whether an execution has waited at least since the given time and could use a reservation. */
function mayReserve(execution: Execution, { limits }: ResourceAccounts, since: number): boolean {
  if (execution.since > since) return false;
  const { needs, group } = execution.demand;
  if (group.isPaused || needs.some((need, index) => need > limits[index]!)) return false;
  return !wouldPass(execution);
}

/**
 * Chooses the execution to reserve for among those with the same obstacle: the given one, or the most urgent one that
 * qualifies if it does not. Otherwise a new arrival, or one that can never fit, would hide all others.
 */
function longestWaiting(
  execution: Execution,
  waiters: ClassQueue,
  resources: ResourceAccounts,
  since: number,
): Execution {
  if (!waiters.mayHoldSince(since) || mayReserve(execution, resources, since)) return execution;
  let best: Execution | undefined;
  let inspected = 0;
  for (const { head } of waiters) {
    if (++inspected > MAX_INSPECTED) break;
    const isBetter = best === undefined || goesBefore(head!, best);
    if (isBetter && mayReserve(head!, resources, since)) best = head;
  }
  if (inspected <= MAX_INSPECTED) waiters.noteWaits();
  return best ?? execution;
}

/** Whether starting one of the class could delay one of the reserved class. */
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

/** Whether a more urgent execution waits for one of its locks. A reservation would pass it over and over. */
function wouldPass(execution: Execution): boolean {
  if (execution.claims === undefined) return false;
  return execution.claims.some(({ lock }) => {
    const first = lock.first();
    return first !== undefined && goesBefore(first, execution);
  });
}

/** Accounts for everything that running executions hold: amounts, tool and group slots, conflicts and locks. */
class Room {
  readonly resources: ResourceAccounts;
  /** The holders, in no particular order; each knows its index. */
  readonly holders: Execution[] = [];

  constructor(lockPromoted: (holder: LockHolder) => void) {
    this.resources = new ResourceAccounts({}, lockPromoted);
  }

  /** Takes everything an execution needs. It must fit. */
  occupy(execution: Execution): void {
    const { needs, tool, group, conflicts } = execution.demand;
    execution.room = 'held';
    const { holders } = this;
    // Not `push`: V8 inlines this but calls `push`.
    execution.place = holders.length;
    holders[holders.length] = execution;
    this.resources.take(needs);
    tool.running++;
    group.running++;
    for (const other of conflicts) other.conflictedBy++;
    if (execution.claims !== undefined) this.resources.locks.take(execution);
  }

  /** Releases everything an execution holds. */
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

  /** A resuming execution may continue even if a limit was lowered meanwhile, once nothing else uses the resource. */
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
