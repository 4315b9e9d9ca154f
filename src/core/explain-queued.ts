import { CONCURRENCY, RESOURCES, SCALE } from './demand.ts';
import type { Dispatcher, Obstacle } from './dispatcher.ts';
import type { Execution } from './execution.ts';
import { type Ahead, MAX_LISTED, nameOf, type QueuedReason } from './explanation.ts';
import type { Lock } from './lock.ts';
import type { Scheduler } from './scheduler.ts';
import { unreachable } from './unreachable.ts';

/** How many classes, and how many running executions, are looked at. */
const MAX_LOOKED_AT = 1000;

/** What keeps a queued execution from starting: asked in the order in which the dispatcher decides. */
export function explainQueued({ dispatcher }: Scheduler, execution: Execution, now: number): QueuedReason {
  const { demand, claims } = execution;
  const { resources } = dispatcher;
  const impossible = demand.needs.findIndex((need, index) => need > resources.limits[index]!);
  if (impossible >= 0) return explainShortage(dispatcher, execution, impossible);
  if (dispatcher.isPaused) return { reason: 'paused', group: undefined };
  if (demand.group.isPaused) return { reason: 'paused', group: demand.group.name };
  const awaited = claims?.find(({ lock }) => lock.isAwaitedBy(execution));
  if (awaited !== undefined) return explainLock(dispatcher, execution, awaited.lock);
  if (!resources.hasSlot()) {
    // One that would have to wait with a slot, too, is not the next to start.
    const limit = dispatcher.limitAgainst(demand, now);
    if (limit !== undefined) return explainObstacle(dispatcher, execution, limit, now);
    return explainShortage(dispatcher, execution, CONCURRENCY);
  }
  const obstacle = dispatcher.obstacle(demand, now) ?? dispatcher.reservationAgainst(demand);
  // A reservation does not stand in the way of the one it was made for.
  if (obstacle !== undefined && !(obstacle.kind === 'reservation' && dispatcher.reserved === execution)) {
    return explainObstacle(dispatcher, execution, obstacle, now);
  }
  const lock = claims === undefined ? undefined : resources.locks.obstacle(execution);
  if (lock !== undefined) return explainLock(dispatcher, execution, lock);
  return { reason: 'turn', ahead: countAhead(dispatcher, execution) };
}

function explainObstacle(
  dispatcher: Dispatcher,
  execution: Execution,
  obstacle: Obstacle,
  now: number,
): QueuedReason {
  const { tool } = execution.demand;
  switch (obstacle.kind) {
    case 'resource':
      return explainShortage(dispatcher, execution, obstacle.index);
    case 'tool':
      if (obstacle === tool && tool.running >= tool.maxConcurrency) {
        return { reason: 'tool-limit', running: tool.running, limit: tool.maxConcurrency };
      }
      return { reason: 'conflict', conflictsWith: runningConflicts(dispatcher, execution) };
    case 'group':
      return {
        reason: 'group-limit',
        group: obstacle.name,
        running: obstacle.running,
        limit: obstacle.maxConcurrency,
      };
    case 'rate':
      return { reason: 'rate', owner: obstacle.owner, allowedInMs: obstacle.allowedAt(now) - now };
    case 'reservation':
      return { reason: 'reservation', reservedFor: nameOf(dispatcher.reserved!) };
    default:
      return unreachable(obstacle);
  }
}

function explainShortage(dispatcher: Dispatcher, execution: Execution, index: number): QueuedReason {
  const { used, limits } = dispatcher.resources;
  const need = execution.demand.needs[index]!;
  const limit = limits[index]! / SCALE;
  if (index === CONCURRENCY) {
    return {
      reason: 'concurrency',
      running: used[index]! / SCALE,
      limit,
      ahead: countAhead(dispatcher, execution),
    };
  }
  return {
    reason: 'resource',
    resource: RESOURCES[index]!,
    needed: need / SCALE,
    free: Math.max(0, limits[index]! - used[index]!) / SCALE,
    limit,
    isPossible: need <= limits[index]!,
  };
}

function explainLock(dispatcher: Dispatcher, execution: Execution, lock: Lock): QueuedReason {
  const { reserved } = dispatcher;
  const { exclusive } = lock.claimOf(execution);
  const holders = lock.exclusiveHolder === undefined ? [...lock.sharedHolders] : [lock.exclusiveHolder];
  const isHeld = lock.exclusiveHolder !== undefined || (exclusive && holders.length > 0);
  const isKept =
    reserved !== undefined && reserved !== execution && reserved.claims?.some((other) => other.lock === lock);
  if (!isHeld && isKept) return { reason: 'reservation', reservedFor: nameOf(reserved) };
  return {
    reason: 'lock',
    lock: lock.name,
    heldBy: isHeld ? holders.slice(0, MAX_LISTED).map((holder) => nameOf(holder as Execution)) : [],
    holders: isHeld ? holders.length : 0,
    ahead: lock.countBefore(execution),
  };
}

/** The running tools with which it conflicts, by its own word or by theirs. */
function runningConflicts({ holders }: Dispatcher, { demand }: Execution): string[] {
  const names = new Set(demand.conflicts.filter((other) => other.running > 0).map((other) => other.name));
  if (demand.tool.conflictedBy > 0) {
    for (const holder of holders.slice(0, MAX_LOOKED_AT)) {
      if (holder.demand.conflicts.includes(demand.tool)) names.add(holder.demand.tool.name);
    }
  }
  return [...names].slice(0, MAX_LISTED);
}

function countAhead({ contest }: Dispatcher, execution: Execution): Ahead {
  const withSameNeeds = execution.demand.queue.countBefore(execution);
  let overall = withSameNeeds;
  let looked = 0;
  for (const other of contest) {
    if (++looked > MAX_LOOKED_AT) break;
    if (other !== execution.demand) overall += other.queue.countBefore(execution);
  }
  return { withSameNeeds, overall };
}
