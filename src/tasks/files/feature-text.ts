import { oneLine } from '../../batch/text.ts';
import { spanText } from '../../core/words.ts';
import {
  type Feature,
  featureProblemText,
  progressOf,
  type Review,
  type Subtask,
  type SubtaskStatus,
  titleOf,
} from './feature.ts';
import { effectiveStatus, isHeld, isoTime, type Moment } from './readiness.ts';

const MARKS: Readonly<Record<SubtaskStatus, string>> = {
  completed: '✓',
  in_progress: '◐',
  pending: '○',
  blocked: '✗',
};
const IN_REVIEW = '◑';
const MAX_TITLE_LENGTH = 200;

/** `✓ 01 - Set up the project [completed]` */
export function subtaskLine(subtask: Subtask): string {
  const { status, unknownStatus, forced } = subtask;
  const isDoubtful = unknownStatus !== undefined || (status === 'completed' && forced !== undefined);
  const mark = subtask.review === undefined ? MARKS[status] : IN_REVIEW;
  return `${isDoubtful ? '!' : mark} ${plainLine(subtask)}`;
}

/** The same without the mark. */
export function plainLine(subtask: Subtask): string {
  return `${oneLine(subtask.seq, 20)} - ${shortTitle(subtask.title)} [${statusText(subtask)}]`;
}

function statusText({ status, unknownStatus, forced, review }: Subtask): string {
  if (review !== undefined) return 'waits for review';
  if (unknownStatus !== undefined) return `unknown status "${oneLine(unknownStatus, 40)}"`;
  return status === 'completed' && forced !== undefined ? 'completed with --force' : status;
}

/** `[auth-system] Authentication` */
export function featureHeading(feature: Feature): string {
  return `[${feature.name}] ${shortTitle(titleOf(feature))}`;
}

export function shortTitle(title: string): string {
  return oneLine(title, MAX_TITLE_LENGTH);
}

export function featureStatusText(feature: Feature, moment: Moment): string {
  const { task, subtasks, broken, problems } = feature;
  const { done, total } = progressOf(feature);
  const unreadable = problems.filter(({ code }) => code === 'unreadable');
  const isMissing = task === undefined && unreadable.every(({ file }) => !file.endsWith('/task.json'));
  const notes = [
    ...unreadable.map(featureProblemText),
    ...(isMissing ? ['task.json is missing. volley tasks validate says what to do.'] : []),
  ];
  return [
    featureHeading(feature),
    `  Status: ${task?.status ?? 'active'} | Progress: ${percentOf(done, total)}% (${done}/${total})`,
    '',
    '  Subtasks:',
    ...subtasks.map((subtask) => `  ${subtaskLine(subtask)}${lapsedClaim(subtask, moment)}`),
    ...broken.map(({ seq, file }) => `  ! ${seq} - ${file} [unreadable]`),
    ...(notes.length > 0 ? ['', '  Problems:', ...notes.map((one) => `  ! ${one}`)] : []),
  ].join('\n');
}

/** 100 only when everything is done. */
function percentOf(done: number, total: number): number {
  if (done === total) return total === 0 ? 0 : 100;
  return Math.min(99, Math.round((100 * done) / total));
}

function lapsedClaim(subtask: Subtask, moment: Moment): string {
  const { claim, status } = subtask;
  if (status !== 'in_progress' || claim === undefined || isHeld(subtask, moment)) return '';
  const ago = spanText(Math.max(0, moment.now - claim.heartbeatAt));
  return ` (claim expired; last heartbeat from ${claim.agent} ${ago} ago)`;
}

/** A subtask as JSON output shows it, with the field names of the files. */
export function subtaskView(subtask: Subtask, moment: Moment) {
  const { claim, startedAt, completedAt } = subtask;
  const timeOrNull = (ms: number | undefined) => (ms === undefined ? null : isoTime(ms));
  return {
    seq: subtask.seq,
    id: subtask.id,
    title: subtask.title,
    status: subtask.status,
    /** Differs from `status` if a claim has lapsed. */
    effective_status: effectiveStatus(subtask, moment),
    depends_on: subtask.dependsOn,
    parallel: subtask.parallel,
    suggested_agent: subtask.suggestedAgent ?? null,
    deliverables: subtask.deliverables,
    agent_id: subtask.agentId ?? null,
    lease_until: timeOrNull(claim?.leaseUntil),
    started_at: timeOrNull(startedAt),
    completed_at: timeOrNull(completedAt),
    completion_summary: subtask.completionSummary ?? null,
    blocked_reason: subtask.blockedReason ?? null,
    /** Verified work that waits until someone approves or rejects it. */
    review: subtask.review === undefined ? null : reviewView(subtask.review),
    /** Why the work of the last attempt was rejected, until it is improved. */
    rejected: subtask.rejection?.why ?? null,
    /** What was missing when it was completed with `--force`. */
    forced: subtask.forced ?? null,
  };
}

function reviewView({ at, agent, attempt, summary, commit, branch, into, approvedAt }: Review) {
  return {
    at: isoTime(at),
    agent,
    attempt,
    summary,
    commit,
    branch,
    into: into ?? null,
    /** Whether someone approved it, and the run is about to merge it. */
    approved: approvedAt !== undefined,
  };
}

export function featureView(feature: Feature, moment: Moment) {
  const { done, total } = progressOf(feature);
  return {
    feature: feature.name,
    name: titleOf(feature),
    status: feature.task?.status ?? 'active',
    subtask_count: total,
    completed_count: done,
    subtasks: feature.subtasks.map((subtask) => subtaskView(subtask, moment)),
    unreadable: feature.broken.map(({ file }) => file),
  };
}
