import { VolleyError } from '../../core/errors.ts';
import type { ProcessIdentity } from '../../store/process-identity.ts';
import { type Feature, progressOf, type Review, type Subtask } from './feature.ts';
import { effectiveStatus, isHeld, isoTime, type Moment, openDependencies } from './readiness.ts';
import { findSubtask } from './subtask-reference.ts';

/** Fields to set in one file; `undefined` removes a field. */
export interface TaskFileChange {
  readonly file: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

interface ClaimRequest {
  readonly seq: string;
  readonly agent: string;
  readonly leaseMs: number;
  /** The claim ends when this process does. */
  readonly process?: ProcessIdentity;
}

interface CompleteRequest {
  readonly seq: string;
  readonly summary: string;
  /** If set, a claim held by another agent is a reason to refuse. */
  readonly agent?: string | undefined;
  /** Failed checks of the verification. */
  readonly failures: readonly string[];
  /** The number of checks that passed. */
  readonly passed: number;
  /** Whether a person approved the work. */
  readonly isApproved?: boolean;
  /** Completes the subtask despite obstacles and failures, and records them. */
  readonly force: boolean;
}

/** Files must stay small enough to be read back. */
const MAX_TEXT_LENGTH = 65_536;
/** What git shows of a hash at least. */
const MIN_HASH = 7;

/** Claims a subtask. The agent that already holds it gets a new lease. */
export function claimSubtask(feature: Feature, request: ClaimRequest, moment: Moment): TaskFileChange {
  const { agent, leaseMs, process } = request;
  checkLength('agent name', agent);
  const subtask = findSubtask(feature, request.seq);
  const { claim, file } = subtask;
  const isOwn = claim?.agent === agent && subtask.status === 'in_progress';
  if (!isOwn) {
    if (claim !== undefined && isHeld(subtask, moment)) {
      const leaseUntil = isoTime(claim.leaseUntil);
      const why = `is claimed by ${claim.agent} until ${leaseUntil}. Choose another subtask, or wait.`;
      throw refused(feature, subtask, why, { agent: claim.agent, leaseUntil });
    }
    const status = effectiveStatus(subtask, moment);
    if (status !== 'pending') throw refused(feature, subtask, NOT_OPEN[status]);
    const open = openDependencies(feature, subtask);
    if (open.length > 0) throw refused(feature, subtask, `waits for ${open.join(', ')}.`, { open });
  }
  return {
    file,
    fields: {
      status: 'in_progress',
      agent_id: agent,
      // A subtask taken over from a lapsed claim keeps its original start.
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

const NOT_OPEN = {
  completed: 'is already completed.',
  blocked: 'is blocked. Unblock it first.',
  in_progress: 'is in progress without a claim that could expire. Release it first if nobody works on it.',
};

/** Makes a subtask pending again. With an agent's name, only if that agent has it. */
export function releaseSubtask(
  feature: Feature,
  request: { seq: string; agent?: string | undefined },
): TaskFileChange {
  const subtask = findSubtask(feature, request.seq);
  if (subtask.status !== 'in_progress')
    throw refused(feature, subtask, `is ${subtask.status}; there is nothing to release.`);
  const agent = subtask.claim?.agent ?? subtask.agentId;
  if (request.agent !== undefined && request.agent !== agent) {
    const why = `is not claimed by ${request.agent} but by ${agent ?? 'nobody'}.`;
    throw refused(feature, subtask, why, { agent });
  }
  return {
    file: subtask.file,
    fields: { ...UNASSIGNED, claim: undefined, marked: undefined, review: undefined },
  };
}

const UNASSIGNED = { status: 'pending', agent_id: null, started_at: null };

/**
 * Makes a subtask pending again after its agent failed, even if the agent marked it as completed. Subtasks that are
 * blocked, pending or completed by someone else stay as they are.
 */
export function reopenSubtask(feature: Feature, seq: string, agent: string): TaskFileChange | undefined {
  const subtask = findSubtask(feature, seq);
  const { status, file } = subtask;
  if (status !== 'in_progress' && status !== 'completed') return undefined;
  if (isCompletedByOther(subtask, agent)) return undefined;
  return {
    file,
    fields: {
      ...UNASSIGNED,
      ...(status === 'completed' && { completed_at: null }),
      completion_summary: undefined,
      claim: undefined,
      marked: undefined,
      review: undefined,
      verified_at: undefined,
      forced: undefined,
    },
  };
}

/** Blocks a subtask. An agent that holds it loses its claim. */
export function blockSubtask(feature: Feature, request: { seq: string; reason: string }): TaskFileChange {
  checkLength('reason', request.reason);
  const subtask = findSubtask(feature, request.seq);
  if (subtask.status === 'completed') throw refused(feature, subtask, NOT_OPEN.completed);
  return {
    file: subtask.file,
    fields: { status: 'blocked', blocked_reason: request.reason, claim: undefined, review: undefined },
  };
}

export function unblockSubtask(feature: Feature, request: { seq: string }): TaskFileChange {
  const subtask = findSubtask(feature, request.seq);
  if (subtask.status !== 'blocked') throw refused(feature, subtask, `is ${subtask.status}, not blocked.`);
  return { file: subtask.file, fields: { ...UNASSIGNED, blocked_reason: undefined } };
}

/** Completes a subtask. Returns undefined if it already is. */
export function completeSubtask(
  feature: Feature,
  request: CompleteRequest,
  moment: Moment,
): TaskFileChange | undefined {
  const { agent, failures, force, passed, summary } = request;
  checkLength('summary', summary);
  const subtask = findSubtask(feature, request.seq);
  if (subtask.status === 'completed') return undefined;
  const obstacles = completionObstacles(feature, subtask, agent, moment);
  if (subtask.review !== undefined && request.isApproved !== true)
    obstacles.push('its work waits for review: approve or reject it');
  if (!force) {
    if (obstacles.length > 0)
      throw refused(feature, subtask, `cannot be completed: ${obstacles.join('; ')}.`, { obstacles });
    if (failures.length > 0) throw verificationFailed(feature, subtask, failures);
  }
  const overruled = [...obstacles, ...failures];
  const now = isoTime(moment.now);
  // Completed while an agent of a run had it: then not by that agent.
  const isTakenFromRun = agent === undefined && subtask.claim?.process !== undefined;
  return {
    file: subtask.file,
    fields: {
      status: 'completed',
      completed_at: now,
      completion_summary: summary,
      ...(agent !== undefined && { agent_id: agent }),
      ...(isTakenFromRun && { agent_id: null }),
      claim: undefined,
      marked: undefined,
      review: undefined,
      rejected: undefined,
      approved_at: request.isApproved === true ? now : undefined,
      blocked_reason: undefined,
      verified_at: overruled.length === 0 && passed > 0 ? now : undefined,
      forced: overruled.length === 0 ? undefined : { at: now, in_spite_of: overruled },
    },
  };
}

export function isCompletedByOther({ status, agentId }: Subtask, agent: string): boolean {
  return status === 'completed' && agentId !== agent;
}

/** Why a subtask cannot be completed, whatever its work looks like. */
export function completionObstacles(
  feature: Feature,
  subtask: Subtask,
  agent: string | undefined,
  moment: Moment,
): string[] {
  const statuses = new Map(feature.subtasks.map(({ seq, status }) => [seq, status]));
  const obstacles = openDependencies(feature, subtask).map(
    (seq) =>
      `it depends on ${seq}, which ${statuses.has(seq) ? `is ${statuses.get(seq)}` : 'does not exist'}`,
  );
  if (subtask.status === 'blocked')
    obstacles.push(`it is blocked (${subtask.blockedReason ?? 'no reason given'})`);
  const { claim } = subtask;
  if (claim === undefined || claim.agent === agent || !isHeld(subtask, moment)) return obstacles;
  if (claim.process !== undefined)
    obstacles.push(`${claim.agent} is working on it in a run, which will complete it`);
  else if (agent !== undefined)
    obstacles.push(`${claim.agent} has claimed it until ${isoTime(claim.leaseUntil)}`);
  return obstacles;
}

/** Records that an agent finished in its own worktree. The process that merges the work completes the subtask. */
export function markSubtask(
  feature: Feature,
  { seq, summary }: { readonly seq: string; readonly summary: string },
  { now }: Moment,
): TaskFileChange {
  checkLength('summary', summary);
  const subtask = findSubtask(feature, seq);
  if (subtask.status !== 'in_progress')
    throw refused(feature, subtask, `is ${subtask.status}; its work is no longer expected.`);
  return { file: subtask.file, fields: { marked: { at: isoTime(now), summary } } };
}

/** Hands verified work to a person. The subtask stays in progress, without a claim that could expire. */
export function requestReview(
  feature: Feature,
  seq: string,
  { at, approvedAt: _, ...work }: Review,
): TaskFileChange {
  const subtask = findSubtask(feature, seq);
  if (subtask.status !== 'in_progress')
    throw refused(feature, subtask, `is ${subtask.status}; its work is no longer expected.`);
  const review = { at: isoTime(at), ...work };
  return {
    file: subtask.file,
    fields: { review, rejected: undefined, claim: undefined, marked: undefined },
  };
}

/** The work of a subtask that waits for review. With a commit, or the beginning of its hash, only if that is still the one. */
export function findReview(feature: Feature, seq: string, commit?: string): Review {
  const subtask = findSubtask(feature, seq);
  const { review } = subtask;
  if (review === undefined) throw refused(feature, subtask, 'has no work that waits for review.');
  if (commit === undefined || (commit.length >= MIN_HASH && review.commit.startsWith(commit))) return review;
  throw refused(feature, subtask, 'has other work by now. Look at it first.', { commit: review.commit });
}

/** Asks the live run to merge the work. */
export function approveReview(
  feature: Feature,
  request: { readonly seq: string; readonly commit: string },
  { now }: Moment,
): TaskFileChange | undefined {
  const { approvedAt } = findReview(feature, request.seq, request.commit);
  return approvedAt === undefined ? changeReview(feature, request.seq, isoTime(now)) : undefined;
}

/** Forgets an approval that no run has acted on. */
export function unapproveReview(feature: Feature, seq: string): TaskFileChange | undefined {
  const { review } = findSubtask(feature, seq);
  return review?.approvedAt === undefined ? undefined : changeReview(feature, seq, undefined);
}

function changeReview(feature: Feature, seq: string, approved: string | undefined): TaskFileChange {
  const { file } = findSubtask(feature, seq);
  const { at, approvedAt: _, ...work } = findReview(feature, seq);
  return { file, fields: { review: { at: isoTime(at), ...work, approved_at: approved } } };
}

/**
 * Sends work back: the next attempt continues with it and learns why. A person cannot send back what is approved: it may
 * be merged at any moment, and then the rejection would be lost.
 */
export function rejectReview(
  feature: Feature,
  request: {
    readonly seq: string;
    readonly why: string;
    readonly by: 'person' | 'merge';
    readonly commit?: string | undefined;
    /** Whether nobody can merge it now. */
    readonly isIdle?: boolean;
  },
  { now }: Moment,
): TaskFileChange {
  const { seq, why, by } = request;
  checkLength('reason', why);
  const { commit, base, branch, approvedAt } = findReview(feature, seq, request.commit);
  if (approvedAt !== undefined && by === 'person' && request.isIdle !== true)
    throw refused(feature, findSubtask(feature, seq), 'is approved, and its work is being merged.', {
      approved_at: isoTime(approvedAt),
    });
  const rejected = { at: isoTime(now), by, why, commit, base, branch };
  const { file } = findSubtask(feature, seq);
  return { file, fields: { ...UNASSIGNED, review: undefined, rejected } };
}

/** The fields of `task.json` that are out of date. Counted anew each time, so wrong counters heal. */
export function counterFields(feature: Feature, now: number): Record<string, unknown> {
  const { task } = feature;
  if (task === undefined) return {};
  const { done, total } = progressOf(feature);
  const isDone = total > 0 && done === total;
  return {
    ...(task.subtaskCount !== total && { subtask_count: total }),
    ...(task.completedCount !== done && { completed_count: done }),
    ...(isDone && task.status === 'active' && { status: 'completed', completed_at: isoTime(now) }),
    ...(!isDone && task.status === 'completed' && { status: 'active', completed_at: null }),
  };
}

/** The fields of an archived `task.json`. An unfinished feature is archived only with `force`. */
export function archiveFields(feature: Feature, now: number, force: boolean): Record<string, unknown> {
  const { name, task } = feature;
  const { done, total } = progressOf(feature);
  if (done < total && !force) {
    const message = `${name} is not finished: ${done} of ${total} subtasks are completed. Use --force to archive it anyway.`;
    throw new VolleyError('SUBTASK_REFUSED', message, { feature: name, done, total });
  }
  return {
    status: 'archived',
    completed_at: isoTime(task?.completedAt ?? now),
    subtask_count: total,
    completed_count: done,
  };
}

function checkLength(what: string, text: string): void {
  if (text.length <= MAX_TEXT_LENGTH) return;
  const message = `The ${what} has ${text.length} characters; the maximum is ${MAX_TEXT_LENGTH}.`;
  throw new VolleyError('INVALID_VALUE', message, { length: text.length });
}

function refused({ name }: Feature, { seq }: Subtask, why: string, details: object = {}): VolleyError {
  const message = `Subtask ${seq} of ${name} ${why}`;
  return new VolleyError('SUBTASK_REFUSED', message, { feature: name, seq, ...details });
}

function verificationFailed({ name }: Feature, { seq }: Subtask, failures: readonly string[]): VolleyError {
  const lines = failures.map((failure) => `\n  - ${failure}`).join('');
  const message = `Subtask ${seq} of ${name} is not done:${lines}\nFinish it, or use --force to complete it anyway; the file will record that.`;
  return new VolleyError('VERIFICATION_FAILED', message, { feature: name, seq, failures });
}
