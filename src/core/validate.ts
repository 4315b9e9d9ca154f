import type { ClassQueue, DemandClass } from './demand-class.ts';
import { internalError } from './errors.ts';
import { Execution } from './execution.ts';
import { Group } from './group.ts';
import type { IndexedHeap } from './heap.ts';
import type { Lock, LockClaim, LockHolder } from './locks.ts';
import { Quota } from './quota.ts';
import { RateLimit } from './rate.ts';
import { goesBefore, type Ranked } from './ready-queue.ts';
import type { Scheduler } from './scheduler.ts';
import { isSettled, STATUS_NAMES, Status, type StatusCode } from './status.ts';
import type { Timeouts } from './timers.ts';
import type { ToolState } from './tool.ts';

export interface ValidateOptions {
  /** Lowering a limit takes nothing from running executions, so usage may exceed the current limits. */
  readonly limitsWereLowered?: boolean;
}

/**
 * Recomputes everything the scheduler maintains incrementally and throws an error that names the first broken
 * invariant. It scans all state and may run between any two events; meant for tests.
 */
export function validate(scheduler: Scheduler, { limitsWereLowered = false }: ValidateOptions = {}): void {
  const all = everyExecution(scheduler);
  const census: Census = {
    all,
    unsettled: all.filter((execution) => !isSettled(execution.state)),
    holding: all.filter((execution) => execution.room === 'held'),
    limitsWereLowered,
  };
  for (const execution of all) {
    checkStanding(execution);
    checkDependencies(execution);
  }
  checkIds(scheduler);
  checkUse(scheduler, census);
  checkTools(scheduler, census);
  checkClasses(census);
  checkGroups(scheduler, census);
  checkCounts(scheduler.lifecycle.counts, census.unsettled, 'of all');
  checkQueues(scheduler, census);
  checkLocks(scheduler, census);
  checkReservation(scheduler);
  checkQuotas(scheduler, census);
  checkTimers(scheduler, census);
}

/** Unsettled and remembered executions, and forgotten ones whose stopped attempt is still alive. */
function everyExecution({ graph, timers, dispatcher }: Scheduler): Execution[] {
  const found = new Set<Execution>(graph);
  for (const timed of timers) if (timed instanceof Execution) found.add(timed);
  for (const execution of [...dispatcher.holders, ...dispatcher.resuming]) found.add(execution);
  return [...found];
}

/** Throws an error that names the invariant and the execution that breaks it. */
function check(holds: boolean, invariant: string, about?: Execution): asserts holds {
  if (holds) return;
  const whose = about === undefined ? '' : `: ${describe(about)}`;
  throw internalError(`Broken invariant: ${invariant}${whose}`);
}

function describe({ id, statusName, attempt, room }: Execution): string {
  return `${id} (${statusName}, attempt ${attempt}, room ${room})`;
}

function count<T>(items: Iterable<T>, matches: (item: T) => boolean): number {
  let total = 0;
  for (const item of items) if (matches(item)) total++;
  return total;
}

/** The executions; the unsettled ones and the ones that hold resources among them. */
interface Census {
  readonly all: readonly Execution[];
  readonly unsettled: readonly Execution[];
  readonly holding: readonly Execution[];
  /** Whether usage may exceed the current limits. */
  readonly limitsWereLowered: boolean;
}

function checkUse({ dispatcher }: Scheduler, { holding, limitsWereLowered }: Census): void {
  const { used, limits, names } = dispatcher.resources;
  const isListed = holding.every((execution) => dispatcher.holders[execution.place] === execution);
  check(
    isListed && dispatcher.holders.length === holding.length,
    'who holds room is listed, and nobody else',
  );
  for (const [index, name] of names.all.entries()) {
    const sum = holding.reduce((total, { heldNeeds }) => total + (heldNeeds[index] ?? 0), 0);
    check(used[index] === sum, `the ${name} in use (${used[index]}) is what is held (${sum})`);
    check(limitsWereLowered || sum <= limits[index]!, `the ${name} in use (${sum}) is within the limit`);
  }
  for (const worker of dispatcher.placement?.workers.values() ?? []) {
    const placed = [...worker.holders];
    const isThere = placed.every((execution) => execution.room === 'held' && execution.worker === worker.id);
    check(isThere, `${worker.id} knows what holds room on it`);
    for (const [index, name] of dispatcher.resources.names.all.entries()) {
      const sum = placed.reduce((total, { heldNeeds }) => total + (heldNeeds[index] ?? 0), 0);
      check((worker.used[index] ?? 0) === sum, `the ${name} in use on ${worker.id} is what is held there`);
    }
  }
  for (const execution of holding) {
    const { tool, conflicts } = execution.demand;
    const isAlone = conflicts.every((other) => other.running === (other === tool ? 1 : 0));
    check(isAlone, 'nothing runs together with what it conflicts with', execution);
  }
}

function checkTools({ catalog }: Scheduler, { unsettled, holding, limitsWereLowered }: Census): void {
  const namedBy = new Map<ToolState, number>();
  for (const { classes } of catalog.tools.values())
    for (const { conflicts } of classes)
      for (const other of conflicts) namedBy.set(other, (namedBy.get(other) ?? 0) + 1);
  for (const tool of catalog.tools.values()) {
    const isCounted = tool.namedBy === (namedBy.get(tool) ?? 0);
    check(isCounted, `the tool ${tool.name} counts the classes that conflict with it`);
  }
  for (const tool of new Set([...catalog.tools.values(), ...holding.map(({ demand }) => demand.tool)])) {
    const running = count(holding, ({ demand }) => demand.tool === tool);
    const conflictedBy = count(holding, ({ demand }) => demand.conflicts.includes(tool));
    const open = count(unsettled, ({ demand }) => demand.tool === tool);
    check(tool.running === running, `the tool ${tool.name} counts what runs`);
    check(tool.conflictedBy === conflictedBy, `the tool ${tool.name} counts what conflicts with it`);
    check(tool.unsettled === open, `the tool ${tool.name} counts what is unsettled`);
    check(limitsWereLowered || running <= tool.maxConcurrency, `the tool ${tool.name} is within its limit`);
  }
  const known = [...catalog.tools.values()].filter(({ durations }) => durations.isKnown);
  const totalMs = known.reduce((sum, { durations }) => sum + durations.estimateMs(), 0);
  const { unknown } = catalog;
  check(unknown.tools === known.length && unknown.totalMs === totalMs, 'the guess is from what is known');
  for (const execution of unsettled) {
    const { tool, group } = execution.demand;
    check(catalog.tools.get(tool.name) === tool, 'the tool of an unsettled execution is known', execution);
    const known = group === catalog.root || catalog.groups.get(group.name) === group;
    check(known, 'the group of an unsettled execution is known', execution);
  }
}

function checkClasses({ unsettled }: Census): void {
  for (const execution of unsettled) {
    const { demand } = execution;
    const isListed = demand.tool.classes.includes(demand) && demand.group.classes.includes(demand);
    check(isListed, 'the class of an unsettled execution is known', execution);
    const own = count(unsettled, (other) => other.demand === demand);
    check(demand.unsettled === own, 'a class counts what is unsettled', execution);
  }
}

function checkGroups({ catalog }: Scheduler, { unsettled, holding, limitsWereLowered }: Census): void {
  const busy = holding.map(({ demand }) => demand.group);
  for (const group of new Set([catalog.root, ...catalog.groups.values(), ...busy])) {
    const running = count(holding, ({ demand }) => demand.group === group);
    check(group.running === running, `the group ${group.name} counts what runs`);
    check(
      limitsWereLowered || running <= group.maxConcurrency,
      `the group ${group.name} is within its limit`,
    );
    const members = unsettled.filter(({ demand }) => demand.group === group);
    checkMembers(group, members);
    checkCounts(group.counts, members, `of the group ${group.name}`);
  }
}

function checkMembers(group: Group, members: readonly Execution[]): void {
  const listed = new Set<Execution>();
  for (const member of group.unsettledMembers()) {
    check(!listed.has(member), `the group ${group.name} lists each execution once`, member);
    listed.add(member);
  }
  const isComplete = listed.size === members.length && members.every((member) => listed.has(member));
  check(isComplete, `the group ${group.name} lists its unsettled executions`);
  check(group.unsettled === members.length, `the group ${group.name} counts its unsettled executions`);
}

/** Settled executions are counted forever, but only some are remembered. */
function checkCounts(counts: readonly number[], unsettled: readonly Execution[], whose: string): void {
  for (const [status, name] of STATUS_NAMES.entries()) {
    if (isSettled(status as StatusCode)) continue;
    const found = count(unsettled, (execution) => execution.state === status);
    check(
      counts[status] === found,
      `the count of ${name} ones ${whose} (${counts[status]}) is right (${found})`,
    );
  }
}

/** Lock holders and waiters are consistent, and nothing waits for a free lock. */
function checkLocks({ dispatcher }: Scheduler, { all, holding }: Census): void {
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

/** Each execution's fields agree with its status. */
function checkStanding(execution: Execution): void {
  const { state, room, graceUntil, ending, home, claims, isKept } = execution;
  const isRunning = state === Status.running;
  const lingers = graceUntil !== 0;
  const mayLinger = state === Status.retrying || state === Status.failed || state === Status.cancelled;
  check(!lingers || mayLinger, 'only a stopped attempt lingers', execution);
  check(isRunning || room !== 'lent', 'only what runs can lend room', execution);
  check(!isRunning || room !== 'none' || isKept, 'what runs has room until its result is kept', execution);
  check(room !== 'held' || isRunning || lingers, 'room is held by what runs or lingers', execution);
  check(
    (home !== undefined) === (state === Status.queued),
    'only what is queued stands in a queue',
    execution,
  );
  check(isSettled(state) === execution.isDone, 'the graph knows what has settled', execution);
  const hasEnding = ending === undefined ? state <= Status.completed : ending.kind === execution.statusName;
  check(hasEnding, 'what did not complete has an ending that says so', execution);
  check(!isSettled(state) || lingers || claims === undefined, 'what has ended claims no lock', execution);
}

/** An execution waits for exactly its open dependencies. */
function checkDependencies(execution: Execution): void {
  const { state, dependencies = [], dependents = [], waitingFor, block } = execution;
  if (isSettled(state)) return;
  const isInPlace = block === undefined || block.nodes[execution.seq - block.firstSeq] === execution;
  check(isInPlace, 'who has a block stands in it, at the place of its number', execution);
  const open = dependencies.filter((dependency) => !isSettled(dependency.state));
  check(waitingFor === open.length, 'waitingFor is the number of unsettled dependencies', execution);
  for (const dependency of open) {
    const edges = count(dependency.dependents ?? [], (dependent) => dependent === execution);
    check(edges === 1, 'an unsettled dependency knows its dependent, once', execution);
  }
  for (const dependent of dependents) {
    const isMutual = dependent.isDone || dependent.dependencies?.includes(execution);
    check(isMutual === true, 'a dependent depends on what it is listed for', execution);
  }
  const { policy } = execution.terms;
  const isUnsuccessful = dependencies.some((dependency) => dependency.state > Status.completed);
  check(policy !== 'skip' || !isUnsuccessful, 'what a failed dependency rules out is skipped', execution);
  if (state === Status.pending) {
    check(open.length > 0, 'what waits for nothing is not pending', execution);
  } else {
    check(open.length === 0, 'nothing is queued before its dependencies have settled', execution);
    check(policy !== 'on-failure' || isUnsuccessful, 'a compensation follows a failure', execution);
  }
}

/** Quotas count what runs, and what is paused will be looked at again. */
function checkQuotas({ dispatcher: { quotas, contest }, timers, now }: Scheduler, { holding }: Census): void {
  check(quotas.isEmpty === (quotas.byName.size === 0), 'the quotas know whether there are any');
  for (const quota of quotas.byName.values()) {
    const { name, isProbing, probe, allowed, peak } = quota;
    const running = count(holding, (execution) => execution.quota === name);
    check(quota.running === running, `the quota ${name} counts what runs (${running}, not ${quota.running})`);
    check(allowed >= 1 && allowed <= peak, `the quota ${name} allows one, and is forgotten when recovered`);
    check(quota.until <= now || isProbing, `after its pause the quota ${name} is probed`);
    check(quota.until <= now || quota.timerIndex >= 0, `a timer ends the pause of the quota ${name}`);
    check(probe === undefined || (isProbing && holding.includes(probe)), `the probe of ${name} runs`, probe);
    if (quota.timerIndex >= 0)
      check(timers.keyAt(quota.timerIndex) >= quota.until, `the quota ${name} is not woken early`);
  }
  check(!quotas.isEmpty || quotas.waiters.size === 0, 'nothing waits without a quota');
  check(contest.keptOut >= quotas.waiters.size, 'what waits for a quota is kept out');
}

/** Everything remembered can be found. */
function checkIds({ graph }: Scheduler): void {
  for (const execution of graph) {
    const isFound = graph.find(execution.id) === execution;
    check(isFound, 'what is remembered is found by its id', execution);
  }
}

/** There is a timer for every time-based change, and no other timer. */
function checkTimers({ timers, timeouts, lifecycle }: Scheduler, { all }: Census): void {
  checkHeap(timers, (timed) => timed.timerIndex, 'the timers');
  for (const timed of timers) {
    if (timed instanceof Group)
      check(timed.unsettled > 0, `the group ${timed.name} with a timer has not ended`);
    else if (timed instanceof Quota)
      check(timed.isProbing, `the quota ${timed.name} with a timer is used up`);
    else check(timed instanceof Execution || timed instanceof RateLimit, 'each timer belongs to somebody');
  }
  const lingering = count(all, ({ graceUntil }) => graceUntil !== 0);
  check(lifecycle.lingering === lingering, `${lingering} stopped attempts linger (${lifecycle.lingering})`);
  const listed = checkTimeouts(timeouts);
  for (const execution of all) {
    const expected = firstMoment(execution);
    const hasTimer = execution.timerIndex >= 0;
    check(!hasTimer || !listed.has(execution), 'each limit is watched in one place', execution);
    const isSet = hasTimer || listed.has(execution);
    const isRightlySet = isSet === expected < Number.POSITIVE_INFINITY;
    // Limits of an execution whose result is being kept no longer apply; their timers are dropped when they fire.
    check(isRightlySet || execution.isKept, 'a timer is set while there is a limit', execution);
    if (!isSet || execution.isKept) continue;
    const at = hasTimer ? timers.keyAt(execution.timerIndex) : listed.get(execution)!;
    // Progress and a late begin move limits without touching the timer, which then fires too early.
    const mayComeEarly = execution.state === Status.running;
    const isRight = mayComeEarly ? at <= expected : at === expected;
    check(isRight, `the timer (${at}) is set for the next limit (${expected})`, execution);
  }
}

/** The attempts that have only a timeout, and when each expires. */
function checkTimeouts(timeouts: Timeouts): Map<Execution, number> {
  const listed = new Map<Execution, number>();
  const lastAt = new Map<number, number>();
  const found = timeouts.firstAt;
  let firstAt = Number.POSITIVE_INFINITY;
  for (const [execution, at] of timeouts) {
    const { timeoutMs } = execution.terms;
    check(!listed.has(execution), 'each timeout is listed once', execution);
    check(at >= (lastAt.get(timeoutMs) ?? at), 'attempts of one timeout are in order', execution);
    listed.set(execution, at);
    lastAt.set(timeoutMs, at);
    firstAt = Math.min(firstAt, at);
  }
  check(found === firstAt, `the first timeout (${found}) is the first (${firstAt})`);
  check(timeouts.listed >= listed.size, 'the timeouts know how many are listed');
  return listed;
}

function firstMoment(execution: Execution): number {
  const { state, graceUntil, deadlineAt, startedAt, progressAt, retryAt } = execution;
  const { timeoutMs, stallMs } = execution.terms;
  const moments: number[] = [];
  if (graceUntil !== 0) moments.push(graceUntil);
  if (!isSettled(state) && deadlineAt !== 0) moments.push(deadlineAt);
  if (state === Status.running && timeoutMs !== 0) moments.push(startedAt + timeoutMs);
  if (state === Status.running && stallMs !== 0) moments.push(progressAt + stallMs);
  if (state === Status.retrying && graceUntil === 0) moments.push(Math.max(1, retryAt));
  return Math.min(...moments);
}

/** Every queued execution is in exactly one queue, and every queue is either inspected or will be woken. */
function checkQueues(scheduler: Scheduler, { all }: Census): void {
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

/** Whatever blocks a class must still exist, or its wake-up was lost. */
function checkKeptOut({ dispatcher, now }: Scheduler, demand: DemandClass, waiters: ClassQueue): void {
  const { tool, group, needs, head } = demand;
  const { used, limits, names } = dispatcher.resources;
  checkHeap(waiters, ({ place }) => place, 'those who are kept out');
  const short = dispatcher.contest.shortages.findIndex(
    ({ queues }, index) => queues.get(needs[index]!) === waiters,
  );
  const busy = [tool, ...demand.conflicts].find((other) => other.waiters === waiters);
  const rate = [tool.rate, group.rate].find((limit) => limit?.waiters === waiters);
  if (short >= 0) {
    const isShort = used[short]! + needs[short]! > limits[short]!;
    check(isShort, `what waits for ${names.all[short]} does not fit`, head);
  } else if (busy !== undefined) {
    check(keepsOut(busy, demand), `the tool ${busy.name} keeps out what waits for it`, head);
  } else if (group.waiters === waiters) {
    const isFull = group.isPaused || group.running >= group.maxConcurrency;
    check(isFull, `the group ${group.name} keeps out what waits for it`, head);
  } else if (rate !== undefined) {
    check(rate.timerIndex >= 0, `the rate of ${rate.owner} that others wait for has a timer`, head);
  } else if (dispatcher.quotas.waiters === waiters) {
    check(!dispatcher.quotas.isOpen(demand, now), 'what waits for a quota may not start', head);
  } else if (dispatcher.placement?.waitersLike(demand) === waiters) {
    check(!dispatcher.placement.fits(demand), 'what waits for a worker fits on none', head);
  } else {
    check(dispatcher.reservation.waiters === waiters, 'a class is kept out where it can be woken', head);
    const isAgainst = dispatcher.reservationAgainst(head!, now) !== undefined;
    check(isAgainst, 'the reservation keeps out what waits for it', head);
  }
}

function keepsOut(tool: ToolState, demand: DemandClass): boolean {
  const isBusy = tool.running >= tool.maxConcurrency || tool.conflictedBy > 0;
  if (tool === demand.tool && isBusy) return true;
  return demand.conflicts.includes(tool) && tool.running > 0;
}

/** At most one execution has a reservation, and it can use it. */
function checkReservation({ dispatcher }: Scheduler): void {
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

function checkHeap<T>(heap: IndexedHeap<T>, placeOf: (item: T) => number, what: string): void {
  let place = 0;
  for (const item of heap) {
    check(placeOf(item) === place, `${what} know their places`);
    const isOrdered = place === 0 || heap.keyAt((place - 1) >> 1) <= heap.keyAt(place);
    check(isOrdered, `${what} are in order`);
    place++;
  }
}

function firstOf<T extends Ranked>(items: Iterable<T>): T | undefined {
  let best: T | undefined;
  for (const item of items) if (best === undefined || goesBefore(item, best)) best = item;
  return best;
}
