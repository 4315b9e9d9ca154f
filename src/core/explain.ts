import type { Execution } from './execution.ts';
import { explainQueued } from './explain-queued.ts';
import {
  type Explanation,
  MAX_LISTED,
  type NamedExecution,
  type NamedWithStatus,
  nameOf,
  type StandingReason,
} from './explanation.ts';
import { explanationText } from './explanation-text.ts';
import type { Failure } from './failure.ts';
import type { Scheduler } from './scheduler.ts';
import { Status } from './status.ts';
import { unreachable } from './unreachable.ts';
import { reasonText } from './words.ts';

/**
 * Why an execution is not running, or where else it stands. A pure query: it changes nothing, and its cost does not
 * grow with the number of executions that wait. `lastFailure` is what the shell remembers of the attempt before, and
 * `rename` gives other executions the names that the reader knows.
 */
export function explain(
  scheduler: Scheduler,
  execution: Execution,
  now: number,
  lastFailure?: Failure,
  rename?: (id: string) => string,
): Explanation {
  const found = standingOf(scheduler, execution, now, lastFailure);
  const standing = rename === undefined ? found : withNames(found, rename);
  return {
    ...nameOf(execution),
    status: execution.statusName,
    text: explanationText(execution, standing),
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
  const { attempt, retryAt, graceUntil, terms } = execution;
  return {
    reason: 'retry-pause',
    retryInMs: Math.max(0, retryAt - now),
    attemptsLeft: terms.retry.maxRetries + 1 - attempt,
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
