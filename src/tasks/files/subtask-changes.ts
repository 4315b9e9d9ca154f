import { VolleyError } from '../../core/errors.ts';
import type { ProcessIdentity } from '../../store/process-identity.ts';
import { type Feature, progressOf, type Subtask } from './feature.ts';
import { effectiveStatus, isHeld, isoTime, type Moment, openDependencies } from './readiness.ts';
import { findSubtask } from './subtask-reference.ts';

/** Fields of one file that shall be set; `undefined` takes one out. */
export interface TaskFileChange {
  readonly file: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

const LONGEST_TEXT = 65_536;

/** A file must stay small enough to be read again. */
export function checkLength(what: string, text: string): void {
  if (text.length <= LONGEST_TEXT) return;
  const message = `The ${what} has ${text.length} characters: ${LONGEST_TEXT} at most.`;
  throw new VolleyError('INVALID_VALUE', message, { length: text.length });
}

/** Why something cannot be done with a subtask as it stands. */
export function subtaskRefused(
  { name }: Feature,
  { seq }: Subtask,
  why: string,
  details: Readonly<Record<string, unknown>> = {},
): VolleyError {
  return new VolleyError('SUBTASK_REFUSED', `Subtask ${seq} of ${name} ${why}`, {
    feature: name,
    seq,
    ...details,
  });
}

export interface ClaimRequest {
  readonly seq: string;
  readonly agent: string;
  readonly leaseMs: number;
  /** Binds the claim to a process: when that is gone, the subtask is free at once. */
  readonly process?: ProcessIdentity;
}

/** Gives a subtask to an agent for a while. The agent that has it already gets a new lease: that is its heartbeat. */
export function claimSubtask(feature: Feature, request: ClaimRequest, moment: Moment): TaskFileChange {
  const { agent, leaseMs, process } = request;
  checkLength('name of the agent', agent);
  const subtask = findSubtask(feature, request.seq);
  const { claim, file } = subtask;
  const isOwn = claim?.agent === agent && subtask.status === 'in_progress';
  if (!isOwn) {
    if (claim !== undefined && isHeld(subtask, moment)) {
      throw subtaskRefused(
        feature,
        subtask,
        `is claimed by ${claim.agent} until ${isoTime(claim.leaseUntil)}. Take another one, or wait until then.`,
        { agent: claim.agent, leaseUntil: isoTime(claim.leaseUntil) },
      );
    }
    const status = effectiveStatus(subtask, moment);
    if (status !== 'pending') throw subtaskRefused(feature, subtask, whyNotOpen(status));
    const open = openDependencies(feature, subtask);
    if (open.length > 0) throw subtaskRefused(feature, subtask, `waits for ${open.join(', ')}.`, { open });
  }
  return {
    file,
    fields: {
      status: 'in_progress',
      agent_id: agent,
      // Work that somebody left behind began when they began.
      started_at: isoTime((subtask.status === 'in_progress' ? subtask.startedAt : undefined) ?? moment.now),
      ...(!isOwn && { marked: undefined }),
      claim: {
        agent,
        heartbeat_at: isoTime(moment.now),
        lease_until: isoTime(moment.now + leaseMs),
        ...(process !== undefined && { process }),
      },
    },
  };
}

function whyNotOpen(status: 'in_progress' | 'completed' | 'blocked'): string {
  if (status === 'completed') return 'is completed already.';
  if (status === 'blocked') return 'is blocked. Open it with unblock first.';
  return 'is in progress, without a claim that could run out. Release it first if nobody works on it.';
}

/** Gives a subtask back: it is open again, and nobody's. With an agent's name, only if that agent has it. */
export function releaseSubtask(
  feature: Feature,
  request: { seq: string; agent?: string | undefined },
): TaskFileChange {
  const subtask = findSubtask(feature, request.seq);
  if (subtask.status !== 'in_progress') {
    throw subtaskRefused(feature, subtask, `is ${subtask.status}, so there is nothing to release.`);
  }
  const holder = subtask.claim?.agent ?? subtask.agentId;
  if (request.agent !== undefined && request.agent !== holder) {
    throw subtaskRefused(feature, subtask, `is not ${request.agent}'s: ${holder ?? 'nobody'} has it.`, {
      agent: holder,
    });
  }
  return {
    file: subtask.file,
    fields: { status: 'pending', agent_id: null, started_at: null, claim: undefined, marked: undefined },
  };
}

/**
 * Gives back a subtask whose work is not there, whatever its agent has marked it as. One that is blocked or open, or that
 * somebody else has completed, stays so.
 */
export function reopenSubtask(feature: Feature, seq: string, agent: string): TaskFileChange | undefined {
  const subtask = findSubtask(feature, seq);
  const { status, file } = subtask;
  if (status !== 'in_progress' && status !== 'completed') return undefined;
  if (isCompletedByOther(subtask, agent)) return undefined;
  return {
    file,
    fields: {
      status: 'pending',
      agent_id: null,
      started_at: null,
      ...(status === 'completed' && { completed_at: null }),
      completion_summary: undefined,
      claim: undefined,
      marked: undefined,
      verified_at: undefined,
      forced: undefined,
    },
  };
}

/** Takes a subtask out of what can be started, and says why. Whoever has it loses it. */
export function blockSubtask(feature: Feature, request: { seq: string; reason: string }): TaskFileChange {
  checkLength('reason', request.reason);
  const subtask = findSubtask(feature, request.seq);
  if (subtask.status === 'completed') throw subtaskRefused(feature, subtask, 'is completed already.');
  return {
    file: subtask.file,
    fields: { status: 'blocked', blocked_reason: request.reason, claim: undefined },
  };
}

export function unblockSubtask(feature: Feature, request: { seq: string }): TaskFileChange {
  const subtask = findSubtask(feature, request.seq);
  if (subtask.status !== 'blocked')
    throw subtaskRefused(feature, subtask, `is ${subtask.status}, not blocked.`);
  return {
    file: subtask.file,
    fields: { status: 'pending', blocked_reason: undefined, agent_id: null, started_at: null },
  };
}

export interface CompleteRequest {
  readonly seq: string;
  readonly summary: string;
  /** Who says so: another's claim that still holds is then a reason to refuse. */
  readonly agent?: string | undefined;
  /** What speaks against it, from the verification. */
  readonly failures: readonly string[];
  /** How many checks passed. */
  readonly passed: number;
  /** Completes it in spite of everything, and writes down in spite of what. */
  readonly force: boolean;
}

/** Marks a subtask as done. Undefined if it was done already. */
export function completeSubtask(
  feature: Feature,
  request: CompleteRequest,
  moment: Moment,
): TaskFileChange | undefined {
  const { failures, force, passed, summary } = request;
  checkLength('summary', summary);
  const subtask = findSubtask(feature, request.seq);
  if (subtask.status === 'completed') return undefined;
  const obstacles = completionObstacles(feature, subtask, request.agent, moment);
  if (!force) {
    if (obstacles.length > 0)
      throw subtaskRefused(feature, subtask, `cannot be completed: ${obstacles.join('; ')}.`, { obstacles });
    if (failures.length > 0) throw verificationFailed(feature, subtask, failures);
  }
  const overruled = [...obstacles, ...failures];
  return {
    file: subtask.file,
    fields: {
      status: 'completed',
      completed_at: isoTime(moment.now),
      completion_summary: summary,
      ...agentField(request, subtask),
      claim: undefined,
      marked: undefined,
      blocked_reason: undefined,
      verified_at: overruled.length === 0 && passed > 0 ? isoTime(moment.now) : undefined,
      forced: overruled.length === 0 ? undefined : { at: isoTime(moment.now), in_spite_of: overruled },
    },
  };
}

/** Whether somebody completed it who is not this agent. */
export function isCompletedByOther({ status, agentId }: Subtask, agent: string): boolean {
  return status === 'completed' && agentId !== agent;
}

/** Whoever takes it out of the hands of a run's agent has not let that do it. */
function agentField({ agent }: CompleteRequest, { claim }: Subtask): { agent_id?: string | null } {
  if (agent !== undefined) return { agent_id: agent };
  return claim?.process === undefined ? {} : { agent_id: null };
}

/** What stands in the way of completing a subtask, before its work is looked at. */
export function completionObstacles(
  feature: Feature,
  subtask: Subtask,
  agent: string | undefined,
  moment: Moment,
): string[] {
  const statusOf = new Map(feature.subtasks.map(({ seq, status }) => [seq, status]));
  const obstacles = openDependencies(feature, subtask).map(
    (seq) => `it depends on ${seq}, which is ${statusOf.get(seq) ?? 'not there'}`,
  );
  if (subtask.status === 'blocked')
    obstacles.push(`it is blocked (${subtask.blockedReason ?? 'no reason given'})`);
  const { claim } = subtask;
  if (claim === undefined || claim.agent === agent || !isHeld(subtask, moment)) return obstacles;
  if (claim.process !== undefined)
    obstacles.push(`${claim.agent} works on it in a run, which completes it when its work is there`);
  else if (agent !== undefined)
    obstacles.push(`${claim.agent} has claimed it until ${isoTime(claim.leaseUntil)}`);
  return obstacles;
}

function verificationFailed({ name }: Feature, { seq }: Subtask, failures: readonly string[]): VolleyError {
  const lines = failures.map((failure) => `\n  - ${failure}`).join('');
  return new VolleyError(
    'VERIFICATION_FAILED',
    `Subtask ${seq} of ${name} is not done, whoever says so:${lines}\nFinish it, or use --force to complete it all the same; the file will say so.`,
    { feature: name, seq, failures },
  );
}

/**
 * Notes that an agent calls a subtask done whose work is not in the project yet, but in a workspace of its own. It is
 * completed by whoever brings the work in.
 */
export function markSubtask(
  feature: Feature,
  request: { readonly seq: string; readonly summary: string },
  { now }: Moment,
): TaskFileChange {
  checkLength('summary', request.summary);
  const subtask = findSubtask(feature, request.seq);
  if (subtask.status !== 'in_progress')
    throw subtaskRefused(feature, subtask, `is ${subtask.status}: nobody waits for its work any more.`);
  return { file: subtask.file, fields: { marked: { at: isoTime(now), summary: request.summary } } };
}

/**
 * What the feature's own file should say after a change of its subtasks; only what differs. It is counted anew every
 * time, so that a counter that went wrong becomes right again.
 */
export function counterFields(feature: Feature, now: number): Record<string, unknown> {
  const { task } = feature;
  if (task === undefined) return {};
  const { done, total } = progressOf(feature);
  const fields: Record<string, unknown> = {};
  if (task.subtaskCount !== total) fields['subtask_count'] = total;
  if (task.completedCount !== done) fields['completed_count'] = done;
  const isDone = total > 0 && done === total;
  if (isDone && task.status === 'active') {
    fields['status'] = 'completed';
    fields['completed_at'] = isoTime(now);
  }
  if (!isDone && task.status === 'completed') {
    fields['status'] = 'active';
    fields['completed_at'] = null;
  }
  return fields;
}

/** What the feature's own file says once it is put away; only a finished one is, unless that is forced. */
export function archiveFields(feature: Feature, now: number, force: boolean): Record<string, unknown> {
  const { done, total } = progressOf(feature);
  if (done < total && !force) {
    throw new VolleyError(
      'SUBTASK_REFUSED',
      `${feature.name} is not finished: ${done} of ${total} subtasks are completed. Use --force to put it away all the same.`,
      { feature: feature.name, done, total },
    );
  }
  return {
    status: 'archived',
    completed_at: isoTime(feature.task?.completedAt ?? now),
    subtask_count: total,
    completed_count: done,
  };
}
