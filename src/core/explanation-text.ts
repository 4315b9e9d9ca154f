import { unreachable } from './errors.ts';
import type { Execution } from './execution.ts';
import type { Ahead, NamedExecution, NamedWithStatus, StandingReason } from './explain.ts';
import {
  isRepositoryLabel,
  type Labels,
  labeledAgent,
  labeledTool,
  SHARE_LABEL,
  WORKER_LABEL,
} from './labels.ts';
import type { PlacementShortage } from './placement.ts';
import { RESOURCE_TABLE } from './resource-table.ts';
import { countText, failureText, listText, spanText } from './words.ts';

/** The unit of a named resource is its name. */
const UNITS: ReadonlyMap<string, string> = new Map(RESOURCE_TABLE.map(({ name, unit }) => [name, unit]));

/** The same facts as a sentence about the execution. */
export function explanationText(
  execution: Execution,
  standing: StandingReason,
  clockText?: (inMs: number) => string,
): string {
  const text =
    standing.reason === 'quota' ? quotaText(standing, clockText) : standingText(execution, standing);
  return 'roomIsKept' in standing && standing.roomIsKept
    ? `${text}; capacity is being reserved for it`
    : text;
}

function standingText(execution: Execution, standing: Exclude<StandingReason, Of<'quota'>>): string {
  switch (standing.reason) {
    case 'dependencies':
      return dependenciesText(standing);
    case 'paused':
      return standing.group === undefined
        ? 'the engine is paused'
        : `its group ${quote(standing.group)} is paused`;
    case 'concurrency':
      return `${standing.limit === 1 ? 'the only slot is' : `all ${standing.limit} slots are`} taken, and ${aheadText(standing.ahead)}`;
    case 'resource':
      return resourceText(standing);
    case 'tool-limit':
      return `its tool has ${standing.running} of at most ${standing.limit} running`;
    case 'group-limit':
      return `its group ${quote(standing.group)} has ${standing.running} of at most ${standing.limit} running`;
    case 'conflict': {
      const { conflictsWith } = standing;
      return `conflicts with ${listText(conflictsWith)}, which ${conflictsWith.length === 1 ? 'is' : 'are'} running`;
    }
    case 'lock':
      return lockText(standing);
    case 'rate':
      return `the rate of ${standing.owner} allows the next start in ${spanText(standing.allowedInMs)}`;
    case 'reservation':
      return `capacity is being reserved for ${whoText(standing.reservedFor)}, which has waited a long time`;
    case 'plan':
      return planText(standing);
    case 'worker':
      return workerText(standing);
    case 'turn':
      return aheadText(standing.ahead);
    case 'retry-pause':
      return retryText(standing);
    case 'running':
      return runningText(execution, standing);
    case 'completed':
      return `completed ${spanText(standing.agoMs)} ago${attemptsText(standing.attempts)}`;
    case 'failed': {
      const words =
        execution.ending?.kind === 'failed' ? failureText(execution.ending.failure) : standing.failure;
      return `failed ${spanText(standing.agoMs)} ago${attemptsText(standing.attempts)}: ${words}`;
    }
    case 'cancelled':
      return `was cancelled ${spanText(standing.agoMs)} ago: ${standing.because}`;
    case 'skipped':
      return skippedText(standing.cause);
    default:
      return unreachable(standing);
  }
}

type Of<R extends StandingReason['reason']> = Extract<StandingReason, { reason: R }>;

function dependenciesText({ waitsFor, open, total }: Of<'dependencies'>): string {
  const names = waitsFor.map(({ id, status }) => `${id} (${status})`);
  const list = open > names.length ? listText(names, open) : names.join(', ');
  return `waits for ${open} of ${total} ${total === 1 ? 'dependency' : 'dependencies'}: ${list}`;
}

function resourceText({ resource, needed, free, limit, isLearned, isPossible }: Of<'resource'>): string {
  const source = isLearned ? ' (learned from earlier calls of its tool)' : '';
  const needs = `needs ${needed} ${UNITS.get(resource) ?? resource}${source}`;
  if (isPossible) return `${needs}, ${free} of ${limit} are free`;
  return `${needs}, but the limit was lowered to ${limit}: it cannot start until the limit is raised`;
}

function workerText({ shortage }: Of<'worker'>): string {
  switch (shortage.lacks) {
    case 'workers':
      return 'no worker is accepting work: it waits until one joins';
    case 'label':
      return shortage.label === WORKER_LABEL
        ? `waits for the worker ${shortage.wanted}, which is not there`
        : `${missingText(shortage)}: it waits until one joins`;
    case 'labels': {
      const wanted = Object.entries(shortage.wanted).map(([label, value]) => labelText(label, value));
      return `no worker has all that it needs (${wanted.join(', ')}): it waits until one joins`;
    }
    case 'resource': {
      const { resource, needed, free, most, isPossible, worker } = shortage;
      const unit = resource === 'concurrency' ? (needed === 1 ? 'slot' : 'slots') : resource;
      const needs = `needs ${needed} ${UNITS.get(resource) ?? unit} on one worker`;
      return isPossible
        ? `${needs}, but the most that is free is ${free} of ${most} on ${worker}`
        : `${needs}, but no worker has more than the ${most} of ${worker}: it waits until a larger one joins`;
    }
    default:
      return unreachable(shortage);
  }
}

function missingText({ label, wanted, isDifferent }: Extract<PlacementShortage, { lacks: 'label' }>): string {
  const tool = labeledTool(label);
  if (tool !== undefined)
    return isDifferent
      ? `no worker has the same version of ${tool} as this machine`
      : `no worker has the function ${tool}`;
  if (label === SHARE_LABEL) return `it uses files, and no worker shares the folder of this machine`;
  const agent = labeledAgent(label);
  if (agent !== undefined) return `no worker runs the agent ${agent}`;
  if (isRepositoryLabel(label)) return 'no worker that runs agents has a clone of the repository';
  return `no worker has ${labelText(label, wanted)}`;
}

function labelText(label: string, wanted: Labels[string]): string {
  const tool = labeledTool(label);
  if (tool !== undefined) return `the function ${tool}`;
  if (label === SHARE_LABEL) return 'the files of this machine';
  const agent = labeledAgent(label);
  if (agent !== undefined) return `the agent ${agent}`;
  if (isRepositoryLabel(label)) return 'a clone of the repository';
  return label === WORKER_LABEL ? `the name ${wanted}` : `the label ${label}=${wanted}`;
}

/** A quota for people: `codex` for `agent:codex`. */
export function scopeText(scope: string): string {
  return scope.replace(/^(?:agent|host|model):/, '');
}

/** `paused until 15:30: codex reached its limit` */
function quotaText(
  { scope, pausedForMs, running, allowed }: Of<'quota'>,
  clockText?: (inMs: number) => string,
): string {
  const name = scopeText(scope);
  const until = clockText === undefined ? `for ${spanText(pausedForMs)}` : `until ${clockText(pausedForMs)}`;
  if (pausedForMs > 0) return `paused ${until}: ${name} reached its limit`;
  if (allowed === 1)
    return `${name} reached its limit, and one execution is testing whether it is available again`;
  return `${name} reached its limit a while ago: ${running} of at most ${allowed} are running, and more will if they succeed`;
}

function lockText({ lock, heldBy, holders, ahead }: Of<'lock'>): string {
  const waits = `waits for the lock ${quote(lock)}`;
  const before = ahead === 0 ? '' : `, ${countText(ahead, 'other')} wait${ahead === 1 ? 's' : ''} before it`;
  if (holders === 0) return `${waits}${before === '' ? ', which is about to be granted' : before}`;
  return `${waits}, held by ${listText(heldBy.map(whoText), holders)}${before}`;
}

function planText({ startsInMs }: Of<'plan'>): string {
  const when = startsInMs === undefined ? 'later' : `in about ${spanText(startsInMs)}`;
  return `is planned to start ${when}: starting it now would delay others that the plan starts first`;
}

function retryText({ retryInMs, attemptsLeft, isStillStopping, lastFailure }: Of<'retry-pause'>): string {
  const when = isStillStopping ? 'as soon as its stopped attempt has ended' : `in ${spanText(retryInMs)}`;
  const left = attemptsLeft === 1 ? 'for the last time ' : '';
  const more = attemptsLeft === 1 ? '' : `, ${attemptsLeft} attempts are left`;
  return `tries again ${left}${when}${more}${lastFailure === undefined ? '' : `; the last attempt failed: ${failureText(lastFailure)}`}`;
}

function runningText({ terms }: Execution, running: Of<'running'>): string {
  const { attempt, runningForMs, hasLentRoom, timeoutInMs, stallInMs, deadlineInMs } = running;
  const which = terms.retry.maxRetries === 0 ? '' : ` (attempt ${attempt} of ${terms.retry.maxRetries + 1})`;
  const lent = hasLentRoom ? ', others use its capacity while it waits for its children' : '';
  const limits = [
    limitText('timeout', timeoutInMs),
    limitText('stalled', stallInMs),
    limitText('deadline', deadlineInMs),
  ];
  return `has been running for ${spanText(runningForMs)}${which}${lent}${limits.join('')}`;
}

function limitText(name: string, inMs: number | undefined): string {
  return inMs === undefined ? '' : `, ${name} in ${spanText(Math.max(0, inMs))}`;
}

function skippedText(cause: NamedWithStatus | undefined): string {
  if (cause === undefined) return 'was skipped because it runs only when a dependency fails, and none did';
  return `was skipped because ${whoText(cause)} ${cause.status === 'failed' ? 'failed' : `was ${cause.status}`}`;
}

function aheadText({ withSameNeeds, overall }: Ahead): string {
  if (overall === 0) return 'it is the next to start';
  const same =
    withSameNeeds === 0 || withSameNeeds === overall ? '' : `, ${withSameNeeds} of them with the same needs`;
  return `about ${countText(overall, 'execution')} ${overall === 1 ? 'goes' : 'go'} before it${same}`;
}

function attemptsText(attempts: number): string {
  return attempts > 1 ? ` after ${attempts} attempts` : '';
}

function whoText({ id, toolName }: NamedExecution): string {
  return `${id} (${toolName})`;
}

function quote(name: string): string {
  return JSON.stringify(name);
}
