import { CONCURRENCY, SCALE } from './demand.ts';
import type { Dispatcher, Obstacle } from './dispatcher.ts';
import { unreachable } from './errors.ts';
import type { Execution } from './execution.ts';
import { explanationText } from './explanation-text.ts';
import type { Failure, FailureReason } from './failure.ts';
import type { Lock } from './locks.ts';
import type { PlacementShortage } from './placement.ts';
import { type QuotaStanding, standingOf as quotaStanding } from './quota.ts';
import type { ResourceName } from './resource-names.ts';
import type { Scheduler } from './scheduler.ts';
import { type ExecutionStatus, Status } from './status.ts';
import { reasonText } from './words.ts';

/** How an explanation refers to an execution. */
export interface NamedExecution {
  readonly id: string;
  readonly toolName: string;
}

export interface NamedWithStatus extends NamedExecution {
  readonly status: ExecutionStatus;
}

/** The most executions or tools an explanation lists. If there may be more, it gives the count. */
const MAX_LISTED = 10;

function nameOf({ id, demand }: Execution): NamedExecution {
  return { id, toolName: demand.tool.name };
}

/** Roughly how many queued executions go first. */
export interface Ahead {
  /** Among those with exactly the same needs. */
  readonly withSameNeeds: number;
  /** Among all that may start now. */
  readonly overall: number;
}

/** Why a queued execution does not start. */
export type QueuedReason =
  /** Everything, or its group, is paused. */
  | { readonly reason: 'paused'; readonly group: string | undefined }
  | {
      readonly reason: 'concurrency';
      readonly running: number;
      readonly limit: number;
      readonly ahead: Ahead;
    }
  | {
      readonly reason: 'resource';
      readonly resource: ResourceName;
      readonly needed: number;
      readonly free: number;
      readonly limit: number;
      /** Whether the execution claims none, and the need follows what was measured. */
      readonly isLearned: boolean;
      /** Whether waiting helps: not if the limit was lowered below the demand. */
      readonly isPossible: boolean;
    }
  | { readonly reason: 'tool-limit'; readonly running: number; readonly limit: number }
  | {
      readonly reason: 'group-limit';
      readonly group: string;
      readonly running: number;
      readonly limit: number;
    }
  /** The running tools that it conflicts with. */
  | { readonly reason: 'conflict'; readonly conflictsWith: readonly string[] }
  | {
      readonly reason: 'lock';
      readonly lock: string;
      /** The first holders. Empty if others merely wait for the lock ahead of this execution. */
      readonly heldBy: readonly NamedExecution[];
      readonly holders: number;
      readonly ahead: number;
    }
  /** A start is allowed again after this time; `owner` is the tool or the group. */
  | { readonly reason: 'rate'; readonly owner: string; readonly allowedInMs: number }
  /** A quota of an outside service is used up, or was lately. */
  | ({ readonly reason: 'quota' } & QuotaStanding)
  | { readonly reason: 'reservation'; readonly reservedFor: NamedExecution }
  /** It fits, but by estimate it would delay others that the plan starts first. Undefined if it is not due for long. */
  | { readonly reason: 'plan'; readonly startsInMs: number | undefined }
  /** No worker can take it now. */
  | { readonly reason: 'worker'; readonly shortage: PlacementShortage; readonly workers: number }
  /** Nothing but its place in the queue. */
  | { readonly reason: 'turn'; readonly ahead: Ahead };

/** An execution's status with the details that explain it. Durations are relative to now. */
export type StandingReason =
  | {
      readonly reason: 'dependencies';
      /** The first unsettled dependencies. */
      readonly waitsFor: readonly NamedWithStatus[];
      readonly open: number;
      readonly total: number;
    }
  /** `roomIsKept`: it waited so long that what it needs is reserved for it. */
  | (QueuedReason & { readonly roomIsKept: boolean })
  /** The next attempt starts after a pause, and only once a stopped attempt is gone. */
  | {
      readonly reason: 'retry-pause';
      readonly retryInMs: number;
      readonly attemptsLeft: number;
      readonly isStillStopping: boolean;
      readonly lastFailure: Failure | undefined;
    }
  | {
      readonly reason: 'running';
      readonly attempt: number;
      readonly runningForMs: number;
      /** Whether others use its resources while it waits for its children. */
      readonly hasLentRoom: boolean;
      /** When it would be stopped, if there is such a limit. */
      readonly timeoutInMs: number | undefined;
      readonly stallInMs: number | undefined;
      readonly deadlineInMs: number | undefined;
    }
  | { readonly reason: 'completed'; readonly attempts: number; readonly agoMs: number }
  | {
      readonly reason: 'failed';
      readonly failure: FailureReason;
      readonly attempts: number;
      readonly agoMs: number;
    }
  | { readonly reason: 'cancelled'; readonly because: string; readonly agoMs: number }
  /** `cause` is the root cause; there is none if a compensation was not needed. */
  | { readonly reason: 'skipped'; readonly cause: NamedWithStatus | undefined; readonly agoMs: number };

/** Why an execution is not running, or what state it is in: as data, and as readable `text`. */
export type Explanation = NamedExecution & {
  readonly status: ExecutionStatus;
  readonly text: string;
} & StandingReason;

/**
 * Explains why an execution is not running, or what state it is in. A pure query whose cost does not grow with the
 * number of waiting executions. `lastFailure` is the previous attempt's failure as the shell recorded it; `rename` maps
 * other executions to names the reader knows; `clockText` formats the time of day that many milliseconds from now.
 */
export function explain(
  scheduler: Scheduler,
  execution: Execution,
  now: number,
  lastFailure?: Failure,
  rename?: (id: string) => string,
  clockText?: (inMs: number) => string,
): Explanation {
  const found = standingOf(scheduler, execution, now, lastFailure);
  const standing = rename === undefined ? found : withNames(found, rename);
  return {
    ...nameOf(execution),
    status: execution.statusName,
    text: explanationText(execution, standing, clockText),
    ...standing,
  };
}

function standingOf(
  scheduler: Scheduler,
  execution: Execution,
  now: number,
  lastFailure: Failure | undefined,
): StandingReason {
  const { state } = execution;
  switch (state) {
    case Status.pending:
      return explainPending(execution);
    case Status.queued:
      return {
        ...explainQueued(scheduler, execution, now),
        roomIsKept: scheduler.dispatcher.reserved === execution,
      };
    case Status.running:
      return explainRunning(execution, now);
    case Status.retrying:
      return explainRetrying(execution, now, lastFailure);
    case Status.completed:
    case Status.failed:
    case Status.cancelled:
    case Status.skipped:
      return explainSettled(execution, now);
    default:
      return unreachable(state);
  }
}

function withNames(standing: StandingReason, rename: (id: string) => string): StandingReason {
  const named = <E extends NamedExecution>(execution: E): E => ({ ...execution, id: rename(execution.id) });
  switch (standing.reason) {
    case 'dependencies':
      return { ...standing, waitsFor: standing.waitsFor.map(named) };
    case 'lock':
      return { ...standing, heldBy: standing.heldBy.map(named) };
    case 'reservation':
      return { ...standing, reservedFor: named(standing.reservedFor) };
    case 'skipped':
      return { ...standing, cause: standing.cause && named(standing.cause) };
    default:
      return standing;
  }
}

function explainPending({ dependencies = [], waitingFor }: Execution): StandingReason {
  const waitsFor: NamedWithStatus[] = [];
  for (const dependency of dependencies) {
    if (dependency.isDone) continue;
    waitsFor.push(withStatus(dependency));
    if (waitsFor.length === MAX_LISTED) break;
  }
  return { reason: 'dependencies', waitsFor, open: waitingFor, total: dependencies.length };
}

function explainRunning(execution: Execution, now: number): StandingReason {
  const { attempt, startedAt, progressAt, deadlineAt, room, terms, isKept } = execution;
  return {
    reason: 'running',
    attempt,
    runningForMs: now - startedAt,
    hasLentRoom: room === 'lent',
    timeoutInMs: isKept || terms.timeoutMs === 0 ? undefined : startedAt + terms.timeoutMs - now,
    stallInMs: isKept || terms.stallMs === 0 ? undefined : progressAt + terms.stallMs - now,
    deadlineInMs: isKept || deadlineAt === 0 ? undefined : deadlineAt - now,
  };
}

function explainRetrying(
  execution: Execution,
  now: number,
  lastFailure: Failure | undefined,
): StandingReason {
  const { countedAttempts, retryAt, graceUntil, terms } = execution;
  return {
    reason: 'retry-pause',
    retryInMs: Math.max(0, retryAt - now),
    attemptsLeft: Math.max(1, terms.retry.maxRetries + 1 - countedAttempts),
    isStillStopping: graceUntil !== 0,
    lastFailure,
  };
}

function explainSettled({ ending, attempt, since }: Execution, now: number): StandingReason {
  const agoMs = now - since;
  if (ending === undefined) return { reason: 'completed', attempts: attempt, agoMs };
  switch (ending.kind) {
    case 'failed':
      return { reason: 'failed', failure: ending.failure.reason, attempts: attempt, agoMs };
    case 'cancelled':
      return { reason: 'cancelled', because: reasonText(ending.reason), agoMs };
    case 'skipped':
      return { reason: 'skipped', cause: ending.cause && withStatus(ending.cause), agoMs };
    default:
      return unreachable(ending);
  }
}

function withStatus(execution: Execution): NamedWithStatus {
  return { ...nameOf(execution), status: execution.statusName };
}

/** The most classes and running executions inspected. */
const MAX_INSPECTED = 1000;

/** What blocks a queued execution, checked in the dispatcher's order. */
function explainQueued({ dispatcher }: Scheduler, execution: Execution, now: number): QueuedReason {
  const { demand, claims } = execution;
  const { resources } = dispatcher;
  const impossible = demand.needs.findIndex((need, index) => need > resources.limits[index]!);
  if (impossible >= 0) return explainShortage(dispatcher, execution, impossible);
  if (dispatcher.isPaused) return { reason: 'paused', group: undefined };
  if (demand.group.isPaused) return { reason: 'paused', group: demand.group.name };
  const { quotas } = dispatcher;
  if (!quotas.isEmpty && !quotas.isOpen(demand, now))
    return explainObstacle(dispatcher, execution, quotas, now);
  const awaited = claims?.find(({ lock }) => lock.isAwaitedBy(execution));
  if (awaited !== undefined) return explainLock(dispatcher, execution, awaited.lock);
  if (!resources.hasSlot()) {
    // One that also lacks something else is not the next to start.
    const limit = dispatcher.limitAgainst(demand, now);
    if (limit !== undefined) return explainObstacle(dispatcher, execution, limit, now);
    return explainShortage(dispatcher, execution, CONCURRENCY);
  }
  const obstacle = dispatcher.obstacle(demand, now) ?? dispatcher.reservationAgainst(execution, now);
  if (obstacle !== undefined) return explainObstacle(dispatcher, execution, obstacle, now);
  const lock = claims === undefined ? undefined : resources.locks.obstacle(execution);
  if (lock !== undefined) return explainLock(dispatcher, execution, lock);
  if (dispatcher.plan !== undefined)
    return { reason: 'plan', startsInMs: dispatcher.plan.startOf(execution, now) };
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
    case 'quota':
      return { reason: 'quota', ...quotaStanding(obstacle.blocking(execution.demand)!, now) };
    case 'reservation':
      return { reason: 'reservation', reservedFor: nameOf(dispatcher.reserved!) };
    case 'placement':
      return {
        reason: 'worker',
        shortage: obstacle.shortage(execution.demand)!,
        workers: obstacle.candidates(execution.demand).length,
      };
    default:
      return unreachable(obstacle);
  }
}

function explainShortage(dispatcher: Dispatcher, execution: Execution, index: number): QueuedReason {
  const { used, limits, names } = dispatcher.resources;
  const { needs, tool, learns } = execution.demand;
  const need = needs[index]!;
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
    resource: names.all[index]!,
    needed: need / SCALE,
    free: Math.max(0, limits[index]! - used[index]!) / SCALE,
    limit,
    isLearned: tool.usage !== undefined && (learns & (1 << index)) !== 0,
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

/** The running tools it conflicts with, whichever side declared the conflict. */
function runningConflicts({ holders }: Dispatcher, { demand }: Execution): string[] {
  const names = new Set(demand.conflicts.filter((other) => other.running > 0).map((other) => other.name));
  if (demand.tool.conflictedBy > 0) {
    for (const holder of holders.slice(0, MAX_INSPECTED)) {
      if (holder.demand.conflicts.includes(demand.tool)) names.add(holder.demand.tool.name);
    }
  }
  return [...names].slice(0, MAX_LISTED);
}

function countAhead({ contest }: Dispatcher, execution: Execution): Ahead {
  const withSameNeeds = execution.demand.queue.countBefore(execution);
  let overall = withSameNeeds;
  let inspected = 0;
  for (const other of contest) {
    if (++inspected > MAX_INSPECTED) break;
    if (other !== execution.demand) overall += other.queue.countBefore(execution);
  }
  return { withSameNeeds, overall };
}
