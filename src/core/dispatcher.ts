import { Contest, type Shortage } from './contest.ts';
import type { ResourceVector } from './demand.ts';
import { ClassQueue, type DemandClass } from './demand-class.ts';
import type { Execution } from './execution.ts';
import type { Group } from './group.ts';
import type { LockHolder } from './locks.ts';
import type { PlacedWorker, WorkerPlacement } from './placement.ts';
import type { Plan } from './plan.ts';
import { PROBE_MS, type Quota, Quotas } from './quota.ts';
import type { RateLimit } from './rate.ts';
import { dequeue, goesBefore, requeue } from './ready-queue.ts';
import { ResourceAccounts } from './resources.ts';
import { Status } from './status.ts';
import type { Timed, Timers } from './timers.ts';
import type { ToolState } from './tool.ts';

/** The most resuming executions a dispatch inspects, so that its cost stays bounded. */
const MAX_RESUMING = 64;
/** The most running executions inspected to predict when a reserved one can start. */
const MAX_HOLDERS = 256;

/** What blocks a class of executions from starting now. */
export type Obstacle =
  | Shortage
  | { readonly kind: 'reservation'; readonly waiters: ClassQueue }
  | ToolState
  | Group
  | RateLimit
  | Quotas
  | WorkerPlacement;

/**
 * Decides what starts next. It guarantees that no limit is exceeded, that an execution that does not fit never blocks
 * one that does, and that nothing starves: after a long enough wait, resources are reserved for an execution until
 * everything it needs is free at once.
 *
 * Classes that may fit are tried in the order of the {@link Contest}. A reservation does not change that order: it only
 * keeps out executions of a later rank that would delay the reserved one. One that by estimate ends before the reserved
 * one can start does not. With workers, the reservation is for one of them, and the others take what they can.
 */
export class Dispatcher {
  readonly room: Room;
  readonly resources: ResourceAccounts;
  isPaused = false;
  /** The plan in charge, if there is one. */
  plan: Plan | undefined;
  /** The numbers of the executions that waited when a plan was dropped, in its order. The next one begins with it. */
  lastOrder: readonly number[] = [];
  /** Increases with everything that a plan does not foresee: submissions, changed limits, pauses, lending. */
  structure = 0;
  /** The execution that resources are reserved for. */
  reserved: Execution | undefined;
  /** The worker on which room is reserved for it, if there are workers. Null until others could take that room. */
  private chosenWorker: PlacedWorker | undefined | null;
  /** How things stand by estimate when the reserved execution can start; computed on demand. */
  private forecast: Forecast | undefined;
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

  /** Where executions are placed; undefined while everything runs on one machine. */
  get placement(): WorkerPlacement | undefined {
    return this.room.placement;
  }

  set placement(placement: WorkerPlacement) {
    this.room.placement = placement;
  }

  /** Quotas of outside services that are used up, or were lately. */
  get quotas(): Quotas {
    return this.room.quotas;
  }

  /** The executions that hold resources, in no particular order. */
  get holders(): readonly Execution[] {
    return this.room.holders;
  }

  enqueue(execution: Execution): void {
    execution.demand.queue.push(execution, execution.level);
    this.reorder(execution.demand);
  }

  /** Moves a waiting execution whose rank changed. */
  rerank(execution: Execution): void {
    requeue(execution, execution.level);
    this.reorder(execution.demand);
    // It may now go before the execution that blocked it from a free lock.
    if (execution.claims !== undefined) this.resources.locks.promoteNext(execution);
    // Others may now go before it.
    if (execution === this.reserved) this.contest.wake(this.reservation.waiters);
  }

  /** Removes an execution that will not start. */
  withdraw(execution: Execution): void {
    dequeue(execution);
    this.reorder(execution.demand);
    if (execution.claims !== undefined) this.resources.locks.noLongerContends(execution);
    if (execution === this.reserved) this.dropReservation();
  }

  /** Starts everything that fits, most urgent first. `start` and `resume` must not call the dispatcher. */
  dispatch(now: number, start: (execution: Execution) => void, resume: (execution: Execution) => void): void {
    while (this.resuming.length > 0 && this.tryResume(this.resuming[0]!)) resume(this.resuming.shift()!);
    if (this.resuming.length > 1) this.resumeBehindFirst(resume);
    if (this.isPaused) return;
    if (!this.quotas.isEmpty) this.dropPausedReservation(now);
    if (this.placement !== undefined) this.reserveForLongWaiting(this.placement, now);
    if (this.plan !== undefined) {
      this.dispatchPlanned(this.plan, now, start);
      return;
    }
    while (this.resources.hasSlot()) {
      const demand = this.contest.first();
      const execution = demand?.head;
      if (this.reserved !== undefined && this.isTurnOfReserved(execution, now)) {
        this.launch(this.reserved, now, start);
        continue;
      }
      if (demand === undefined || execution === undefined) return;
      const obstacle = this.obstacle(demand, now) ?? this.reservationAgainst(execution, now);
      if (obstacle !== undefined) {
        const waiters = waitersOf(obstacle, demand);
        this.contest.keepOut(demand, waiters);
        if (obstacle.kind === 'rate') this.timers.set(obstacle, obstacle.allowedAt(now));
        else if (obstacle.kind !== 'quota')
          this.considerReservation(
            longestWaiting(execution, waiters, this.room, now - this.reserveAfterMs),
            now,
          );
        continue;
      }
      const lock = execution.claims === undefined ? undefined : this.resources.locks.obstacle(execution);
      if (lock !== undefined) {
        dequeue(execution);
        this.reorder(demand);
        this.resources.locks.wait(execution, lock);
        this.considerReservation(execution, now);
        continue;
      }
      this.launch(execution, now, start);
    }
  }

  /** Call this for everything that a plan does not foresee. List scheduling is in charge again. */
  structureChanged(): void {
    this.structure++;
    if (this.plan !== undefined) this.dropPlan();
  }

  /** Puts list scheduling in charge again, and lets it look at everything that waits. */
  dropPlan(): void {
    this.lastOrder = this.plan!.order;
    this.plan = undefined;
    this.contest.wakeAllShort();
  }

  /** Releases an execution's resources and wakes the classes that were short of them. */
  release(execution: Execution): void {
    const { tool, group, conflicts } = execution.demand;
    const { placement } = this;
    const needs = execution.heldNeeds;
    this.room.vacate(execution);
    this.forecast = undefined;
    if (this.contest.keptOut === 0) return;
    // Even if other conflicting executions still run: an execution that waited long must be considered for a
    // reservation.
    for (const other of conflicts) this.contest.wake(other.waiters);
    for (let index = 0; index < needs.length; index++) if (needs[index]! > 0) this.contest.wakeShort(index);
    this.contest.wake(tool.waiters);
    this.contest.wake(group.waiters);
    this.contest.wake(this.quotas.waiters);
    if (placement !== undefined)
      for (const waiters of placement.waitersFor(execution.worker)) this.contest.wake(waiters);
    this.contest.wake(this.reservation.waiters);
  }

  /** Whether others may not run because it holds room, however much there is. */
  excludesOthers({ claims, demand: { conflicts, tool } }: Execution): boolean {
    return claims !== undefined || conflicts.length + tool.conflictedBy > 0 || !this.quotas.isEmpty;
  }

  /** Frees the resources of a running execution while it waits for others. */
  lend(execution: Execution): void {
    this.structureChanged();
    this.release(execution);
    execution.room = 'lent';
  }

  /** Requests lent resources back. A later dispatch calls `resume` once they are taken. */
  reclaim(execution: Execution): void {
    this.structureChanged();
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
    this.structureChanged();
    execution.room = 'none';
    this.withdrawReclaim(execution);
    // Its duration may be learned.
    this.holdersChanged();
  }

  /** Reconsiders everything after limits changed or a pause ended. */
  wakeAll(): void {
    this.structureChanged();
    this.contest.wakeAllShort();
    if (this.placement !== undefined)
      for (const waiters of this.placement.waitersFor()) this.contest.wake(waiters);
    if (this.reserved !== undefined) this.dropReservation();
  }

  /** Reconsiders what waits for workers after one joined, drains or left, or lets more executions wait on it. */
  workersChanged(): void {
    const { placement, chosenWorker } = this;
    this.structureChanged();
    for (const waiters of placement!.waitersFor()) this.contest.wake(waiters);
    if (this.reserved === undefined) return;
    // What was gathered on a worker is kept, unless it cannot be used any more.
    const isLost =
      chosenWorker === undefined ||
      (chosenWorker !== null &&
        (chosenWorker.isDraining || placement!.workers.get(chosenWorker.id) !== chosenWorker));
    if (isLost) this.dropReservation();
    else this.holdersChanged();
  }

  /**
   * Pauses a quota that refused an attempt, which has released its resources. Returns false if there are too many quotas.
   */
  refuse(execution: Execution, scope: string, retryAfterMs: number | undefined, now: number): boolean {
    const quota = this.quotas.open(scope, this.holders, (unused) => this.timers.clear(unused));
    if (quota === undefined) return false;
    quota.refuse(execution.since, retryAfterMs, quota.running + 1, now);
    this.timers.set(quota, quota.until);
    this.structureChanged();
    return true;
  }

  /** Records that an attempt was not refused. */
  accepted(execution: Execution, isSuccess: boolean): void {
    const quota = this.quotas.byName.get(execution.quota);
    if (quota?.accept(execution.since, isSuccess) === true) this.widened(quota);
  }

  /** A pause is over, or a probe has run long enough. */
  onQuotaTimer(quota: Quota, now: number): void {
    const { probe } = quota;
    if (quota.isProbing && probe !== undefined) {
      if (now < probe.since + PROBE_MS) this.timers.set(quota, probe.since + PROBE_MS);
      else if (quota.accept(probe.since, false)) this.widened(quota);
    }
    this.contest.wake(this.quotas.waiters);
  }

  private widened(quota: Quota): void {
    this.timers.clear(quota);
    if (quota.isRecovered) this.quotas.forget(quota.name);
    this.contest.wake(this.quotas.waiters);
  }

  private watchProbe(execution: Execution, now: number): void {
    const quota = this.quotas.byName.get(execution.quota);
    if (quota?.probe === execution) this.timers.set(quota, now + PROBE_MS);
  }

  /** Nothing is kept free for an execution whose quota is used up. */
  private dropPausedReservation(now: number): void {
    const { reserved } = this;
    if (reserved === undefined || reserved.room === 'lent') return;
    if (!this.quotas.isOpen(reserved.demand, now)) this.dropReservation();
  }

  /** Changes what executions of a class need to start. Those that run keep what they took. */
  changeNeeds(demand: DemandClass, needs: ResourceVector): void {
    for (const holder of this.holders) if (holder.demand === demand) holder.keepHeld();
    demand.needs = needs;
    demand.shape = undefined;
    if (demand.standsIn !== undefined && demand.standsIn !== this.contest.free) this.contest.readmit(demand);
    if (this.reserved?.demand === demand) this.dropReservation();
    this.holdersChanged();
  }

  /** What blocks the class now, apart from locks and a reservation. */
  obstacle(demand: DemandClass, now: number): Obstacle | undefined {
    // Checked first: a paused class must not represent others that merely need the same amount.
    if (demand.group.isPaused) return demand.group;
    if (!this.quotas.isEmpty && !this.quotas.isOpen(demand, now)) return this.quotas;
    const short = this.resources.shortage(demand.needs);
    if (short >= 0) return this.contest.shortage(short);
    const limit = this.limitAgainst(demand, now);
    if (limit !== undefined || this.placement === undefined) return limit;
    return this.placement.fits(demand) ? undefined : this.placement;
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

  /** Returns the reservation if the execution goes after the reserved one and starting it could delay that. */
  reservationAgainst(execution: Execution, now: number): Obstacle | undefined {
    const { reserved } = this;
    if (reserved === undefined || this.goesBeforeReserved(execution)) return undefined;
    const { demand } = execution;
    if (this.couldDelayReserved(demand) && !this.isBackfill(execution, now)) return this.reservation;
    const keptFrom = this.workerKeptFrom(execution, now);
    return keptFrom === undefined || this.placement!.fits(demand, keptFrom) ? undefined : this.reservation;
  }

  /** The worker on which an execution could delay the reserved one, so that it must be placed on another. */
  private workerKeptFrom(execution: Execution, now: number): PlacedWorker | undefined {
    const { reserved, placement } = this;
    if (reserved === undefined || placement === undefined || this.goesBeforeReserved(execution))
      return undefined;
    const { reservedOn } = this;
    if (reservedOn === undefined) return undefined;
    const { needs } = execution.demand;
    const others = reserved.demand.needs;
    if (!overflows(needs, others, reservedOn.used, (index) => reservedOn.limitOf(index))) return undefined;
    const forecast = this.forecastFor(reserved);
    if (forecast === undefined) return reservedOn;
    if (execution.isEstimateKnown && now + execution.expectedMs <= forecast.at) return undefined;
    const isFree = !overflows(needs, others, forecast.used, (index) => reservedOn.limitOf(index));
    return isFree ? undefined : reservedOn;
  }

  /** Whether starting or resuming one of the class could delay the reserved execution, whatever the estimates. */
  couldDelayReserved(demand: DemandClass): boolean {
    const { demand: other } = this.reserved!;
    if (sharesRate(demand, other)) return true;
    const { used } = this.resources;
    return couldDelay(demand, other, this.resources, {
      used,
      ofTool: other.tool.running,
      ofGroup: other.group.running,
    });
  }

  /** Call this when the reserved execution may have to wait longer for a running one: others may then pass it. */
  holdersChanged(): void {
    if (this.reserved === undefined) return;
    this.forecast = undefined;
    this.contest.wake(this.reservation.waiters);
  }

  /** An attempt that wants its lent resources back goes before everything that waits. */
  private goesBeforeReserved(execution: Execution): boolean {
    const reserved = this.reserved!;
    return execution === reserved || (reserved.room !== 'lent' && goesBefore(execution, reserved));
  }

  /** Whether by estimate the execution has ended when the reserved one can start, or both fit then. */
  private isBackfill(execution: Execution, now: number): boolean {
    const reserved = this.reserved!;
    const { demand } = execution;
    if (sharesRate(demand, reserved.demand)) return false;
    const forecast = this.forecastFor(reserved);
    if (forecast === undefined) return false;
    const endsInTime = execution.isEstimateKnown && now + execution.expectedMs <= forecast.at;
    if (endsInTime) return true;
    if (this.reservedOn === undefined) return !couldDelay(demand, reserved.demand, this.resources, forecast);
    return !competes(demand, reserved.demand, forecast);
  }

  /** Undefined if it cannot be predicted when the reserved execution can start. */
  private forecastFor(reserved: Execution): Forecast | undefined {
    if (reserved.room === 'lent') return undefined;
    this.forecast ??= forecastStart(reserved, this.room, this.reservedOn);
    return this.forecast;
  }

  /** Whether the reserved execution fits and goes before the first of the others. */
  private isTurnOfReserved(first: Execution | undefined, now: number): boolean {
    const reserved = this.reserved!;
    if (reserved.room === 'lent' || (first !== undefined && goesBefore(first, reserved))) return false;
    return this.obstacle(reserved.demand, now) === undefined && this.mayTakeLocks(reserved);
  }

  /** Starts what the plan starts now. It never overrides a limit, a lock or a reservation. */
  private dispatchPlanned(plan: Plan, now: number, start: (execution: Execution) => void): void {
    plan.begin(now);
    while (this.resources.hasSlot()) {
      const execution = plan.nextDue();
      if (execution === undefined) break;
      const { dueOn } = plan;
      const isFree =
        this.obstacle(execution.demand, now) === undefined &&
        this.mayTakeLocks(execution) &&
        this.reservationAgainst(execution, now) === undefined;
      if (isFree && (dueOn === undefined || this.isOpen(dueOn, execution, now)))
        this.launch(execution, now, start, dueOn);
    }
    if (plan.isOver) this.dropPlan();
  }

  /** Whether the execution can start on this worker now, which may be kept free for another. */
  private isOpen(worker: PlacedWorker, execution: Execution, now: number): boolean {
    return worker.hasRoom(execution.demand.needs) && worker !== this.workerKeptFrom(execution, now);
  }

  private mayTakeLocks(execution: Execution): boolean {
    return execution.claims === undefined || this.resources.locks.obstacle(execution) === undefined;
  }

  private launch(
    execution: Execution,
    now: number,
    start: (execution: Execution) => void,
    on?: PlacedWorker,
  ): void {
    const { demand } = execution;
    dequeue(execution);
    this.reorder(demand);
    this.quotas.choose(execution, now);
    if (on === undefined) this.room.occupy(execution, this.workerKeptFrom(execution, now));
    else this.room.occupy(execution, undefined, on);
    if (!this.quotas.isEmpty) this.watchProbe(execution, now);
    demand.tool.rate?.record(now);
    demand.group.rate?.record(now);
    this.forecast = undefined;
    if (execution === this.reserved) this.dropReservation();
    else if (this.reserved !== undefined && this.goesBeforeReserved(execution)) this.holdersChanged();
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
      const { reservedOn } = this;
      if (reservedOn !== undefined && reservedOn === this.placement!.workerOf(execution)) continue;
      if (this.couldDelayReserved(execution.demand) || !this.room.mayResume(execution)) continue;
      this.room.occupy(execution);
      this.structureChanged();
      this.holdersChanged();
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
    this.structureChanged();
    if (execution === this.reserved) this.dropReservation();
    else this.holdersChanged();
    return true;
  }

  /** Reserves resources for an execution that waited long, unless a more urgent one has the reservation. */
  private considerReservation(execution: Execution, now: number): void {
    if (this.reserved !== undefined && !this.goesBeforeReserved(execution)) return;
    if (execution === this.reserved) return;
    if (!this.quotas.isEmpty && !this.quotas.isOpen(execution.demand, now)) return;
    if (mayReserve(execution, this.room, now - this.reserveAfterMs)) this.reserve(execution);
  }

  /** What waits for workers is not looked at again before it fits, so it is considered for a reservation here. */
  private reserveForLongWaiting(placement: WorkerPlacement, now: number): void {
    const since = now - this.reserveAfterMs;
    for (const waiters of placement.waitersFor()) {
      if (!waiters.mayHoldSince(since)) continue;
      this.considerReservation(longestWaiting(waiters.peek()!.head!, waiters, this.room, since), now);
    }
  }

  private reserve(execution: Execution): void {
    if (this.reserved !== undefined) this.dropReservation();
    this.reserved = execution;
    this.chosenWorker = null;
    this.forecast = undefined;
    this.resources.locks.reservedFor = execution;
    this.resources.locks.isReservedToResume = execution.room === 'lent';
  }

  private get reservedOn(): PlacedWorker | undefined {
    const { placement, reserved, room } = this;
    if (reserved === undefined || placement === undefined) return undefined;
    if (this.chosenWorker === null)
      this.chosenWorker =
        reserved.room === 'lent'
          ? placement.workerOf(reserved)
          : placement.bestToReserve(
              reserved,
              (worker) => forecastStart(reserved, room, worker)?.at ?? Number.POSITIVE_INFINITY,
            );
    return this.chosenWorker;
  }

  private dropReservation(): void {
    const execution = this.reserved!;
    this.reserved = undefined;
    this.chosenWorker = undefined;
    this.resources.locks.reservedFor = undefined;
    if (execution.claims !== undefined) this.resources.locks.promoteNext(execution);
    this.contest.wake(this.reservation.waiters);
  }

  /** Updates a class after its queue changed. A reservation may keep out its head, but not the next one. */
  private reorder(demand: DemandClass): void {
    const { head, headRank } = demand;
    this.contest.reorder(demand);
    if (demand.standsIn !== this.reservation.waiters) return;
    if (demand.head !== head || demand.headRank !== headRank) this.contest.readmit(demand);
  }
}

/** The queue in which a class waits for the obstacle to go away. */
function waitersOf(obstacle: Obstacle, demand: DemandClass): ClassQueue {
  const hasQueues = obstacle.kind === 'resource' || obstacle.kind === 'placement';
  return hasQueues ? obstacle.waitersLike(demand) : obstacle.waiters;
}

/** The most blocked classes inspected to find one that waited long. */
const MAX_INSPECTED = 64;

/** Whether an execution has waited at least since the given time and could use a reservation. */
function mayReserve(execution: Execution, { resources, placement }: Room, since: number): boolean {
  if (execution.since > since) return false;
  const { needs, group } = execution.demand;
  if (group.isPaused || needs.some((need, index) => need > resources.limits[index]!)) return false;
  if (placement?.isPossible(execution.demand) === false) return false;
  return !wouldPass(execution);
}

/**
 * Chooses the execution to reserve for among those with the same obstacle: the given one, or the most urgent one that
 * qualifies if it does not. Otherwise a new arrival, or one that can never fit, would hide all others.
 */
function longestWaiting(execution: Execution, waiters: ClassQueue, room: Room, since: number): Execution {
  if (!waiters.mayHoldSince(since) || mayReserve(execution, room, since)) return execution;
  let best: Execution | undefined;
  let inspected = 0;
  for (const { head } of waiters) {
    if (++inspected > MAX_INSPECTED) break;
    const isBetter = best === undefined || goesBefore(head!, best);
    if (isBetter && mayReserve(head!, room, since)) best = head;
  }
  if (inspected <= MAX_INSPECTED) waiters.noteWaits();
  return best ?? execution;
}

/** What is in use, on the worker of a reservation if there are workers, and how many of a class's tool and group run. */
interface Usage {
  readonly used: readonly number[];
  readonly ofTool: number;
  readonly ofGroup: number;
}

/** What is still in use at the time when an execution can start by estimate. */
interface Forecast extends Usage {
  readonly at: number;
}

/**
 * Predicts when an execution can start: running ones end in the order of their estimated ends until it fits. The order
 * does not depend on the current time, so nothing that starts later than an overdue end can push the start further
 * away. That bounds the delay, however wrong the estimates are. If it will start on a worker, only what runs there
 * holds resources that it needs. Undefined if too many run to be inspected.
 */
function forecastStart(execution: Execution, room: Room, on: PlacedWorker | undefined): Forecast | undefined {
  const { demand, claims } = execution;
  const { needs, tool, group } = demand;
  const { limits } = room.resources;
  // What runs elsewhere matters only if it can exclude the execution otherwise.
  const isFree =
    claims === undefined &&
    demand.conflicts.length + tool.conflictedBy === 0 &&
    tool.maxConcurrency + group.maxConcurrency === Number.POSITIVE_INFINITY;
  const holders = on !== undefined && isFree ? [...on.holders] : room.holders;
  if (holders.length > MAX_HOLDERS) return undefined;
  const used = on === undefined ? [...room.resources.used] : needs.map((_, index) => on.usedOf(index));
  let ofTool = tool.running;
  let ofGroup = group.running;
  let excluding = 0;
  for (const holder of holders) if (excludes(holder, execution)) excluding++;
  const limitOf = (index: number) => (on === undefined ? limits[index]! : on.limitOf(index));
  const fits = () =>
    excluding === 0 &&
    ofTool < tool.maxConcurrency &&
    ofGroup < group.maxConcurrency &&
    needs.every((need, index) => need === 0 || used[index]! + need <= limitOf(index));
  let at = Number.NEGATIVE_INFINITY;
  let isKnown = true;
  const ends = [...holders].sort((a, b) => expectedEnd(a) - expectedEnd(b) || a.seq - b.seq);
  for (const holder of ends) {
    if (expectedEnd(holder) > at && fits()) break;
    const { demand: held, heldNeeds, worker } = holder;
    if (on === undefined || worker === on.id)
      for (let index = 0; index < used.length; index++) used[index]! -= heldNeeds[index] ?? 0;
    if (held.tool === tool) ofTool--;
    if (held.group === group) ofGroup--;
    if (excludes(holder, execution)) excluding--;
    at = expectedEnd(holder);
    // A stopped attempt, and one of unknown duration, may end at any time.
    if (holder.state !== Status.running || !holder.isEstimateKnown) isKnown = false;
  }
  return { at: isKnown ? at : Number.NEGATIVE_INFINITY, used, ofTool, ofGroup };
}

function expectedEnd(holder: Execution): number {
  return holder.startedAt + holder.expectedMs;
}

/** Whether a running execution excludes the other by a conflict or a lock. */
function excludes({ demand, claims }: Execution, other: Execution): boolean {
  if (conflict(demand, other.demand)) return true;
  if (claims === undefined || other.claims === undefined) return false;
  return claims.some(({ lock, exclusive }) =>
    other.claims!.some((claim) => claim.lock === lock && (claim.exclusive || exclusive)),
  );
}

function conflict(a: DemandClass, b: DemandClass): boolean {
  return a.conflicts.includes(b.tool) || b.conflicts.includes(a.tool);
}

/** Whether one of the class could delay one of the other class that is to start while this much is in use. */
function couldDelay(
  demand: DemandClass,
  other: DemandClass,
  { limits }: ResourceAccounts,
  usage: Usage,
): boolean {
  return (
    overflows(demand.needs, other.needs, usage.used, (index) => limits[index]!) ||
    competes(demand, other, usage)
  );
}

/** Whether both do not fit at once while this much is in use. */
function overflows(
  needs: ResourceVector,
  others: ResourceVector,
  used: readonly number[],
  limitOf: (index: number) => number,
): boolean {
  for (let index = 0; index < needs.length; index++) {
    const own = needs[index]!;
    // The other one may end with an earlier resource.
    const kept = others[index] ?? 0;
    if (own > 0 && kept > 0 && (used[index] ?? 0) + own + kept > limitOf(index)) return true;
  }
  return false;
}

/** Whether both need the same slot of a tool or group, or exclude each other. */
function competes(demand: DemandClass, other: DemandClass, { ofTool, ofGroup }: Usage): boolean {
  const { tool, group } = demand;
  if (tool === other.tool && ofTool + 2 > tool.maxConcurrency) return true;
  if (group === other.group && ofGroup + 2 > group.maxConcurrency) return true;
  return conflict(demand, other);
}

/** Whether a start of one class counts against a rate that also limits the other. */
function sharesRate(a: DemandClass, b: DemandClass): boolean {
  return (
    (a.tool === b.tool && a.tool.rate !== undefined) || (a.group === b.group && a.group.rate !== undefined)
  );
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
  /** Undefined while everything runs on one machine. */
  placement: WorkerPlacement | undefined = undefined;
  /** The holders, in no particular order; each knows its index. */
  readonly holders: Execution[] = [];
  readonly quotas = new Quotas();

  constructor(lockPromoted: (holder: LockHolder) => void) {
    this.resources = new ResourceAccounts({}, lockPromoted);
  }

  /** Takes everything an execution needs. It must fit: on the given worker, or on another than the one it is kept from. */
  occupy(execution: Execution, keptFrom?: PlacedWorker, on?: PlacedWorker): void {
    const { needs, tool, group, conflicts } = execution.demand;
    if (on !== undefined) this.placement!.takeOn(on, execution);
    else if (this.placement !== undefined)
      this.placement.take(execution, execution.room === 'lent', keptFrom);
    execution.room = 'held';
    execution.forgetHeld();
    const { holders } = this;
    // Not `push`: V8 inlines this but calls `push`.
    execution.place = holders.length;
    holders[holders.length] = execution;
    this.resources.take(needs);
    tool.running++;
    group.running++;
    for (const other of conflicts) other.conflictedBy++;
    if (!this.quotas.isEmpty) this.quotas.occupy(execution);
    if (execution.claims !== undefined) this.resources.locks.take(execution);
  }

  /** Releases everything an execution holds. */
  vacate(execution: Execution): void {
    const { tool, group, conflicts } = execution.demand;
    execution.room = 'none';
    const last = this.holders.pop()!;
    if (last !== execution) {
      this.holders[execution.place] = last;
      last.place = execution.place;
    }
    this.resources.giveBack(execution.heldNeeds);
    if (this.placement !== undefined) this.placement.giveBack(execution);
    tool.running--;
    group.running--;
    for (const other of conflicts) other.conflictedBy--;
    if (!this.quotas.isEmpty) this.quotas.vacate(execution);
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
    if (this.placement?.mayResume(execution) === false) return false;
    return this.areLocksFree(execution);
  }
}
