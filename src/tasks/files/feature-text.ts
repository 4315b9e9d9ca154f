import { oneLine } from '../../batch/text.ts';
import { spanText } from '../../core/words.ts';
import {
  type Feature,
  featureProblemText,
  progressOf,
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
const LONGEST_TITLE = 200;

/** `✓ 01 - Set up the project [completed]` */
export function subtaskLine(subtask: Subtask): string {
  return `${MARKS[subtask.status]} ${plainLine(subtask)}`;
}

/** The same without its mark. */
export function plainLine({ seq, title, status }: Subtask): string {
  return `${oneLine(seq, 20)} - ${shortTitle(title)} [${status}]`;
}

export function shortTitle(title: string): string {
  return oneLine(title, LONGEST_TITLE);
}

/** How a feature stands: its name, its progress, and a line for each subtask. */
export function featureStatusText(feature: Feature, moment: Moment): string {
  const { name, task, subtasks, broken, problems } = feature;
  const { done, total } = progressOf(feature);
  const unreadable = problems.filter(({ code }) => code === 'unreadable');
  return [
    `[${name}] ${shortTitle(titleOf(feature))}`,
    `  Status: ${task?.status ?? 'active'} | Progress: ${percentOf(done, total)}% (${done}/${total})`,
    '  ',
    '  Subtasks:',
    ...subtasks.map((subtask) => `  ${subtaskLine(subtask)}${noteOf(subtask, moment)}`),
    ...broken.map(({ seq, file }) => `  ! ${seq} - ${file} [unreadable]`),
    ...(unreadable.length > 0
      ? ['  ', '  Problems:', ...unreadable.map((one) => `  ! ${featureProblemText(one)}`)]
      : []),
  ].join('\n');
}

/** 100 only when all is done. */
function percentOf(done: number, total: number): number {
  if (done === total) return total === 0 ? 0 : 100;
  return Math.min(99, Math.round((100 * done) / total));
}

/** Only where somebody who had it is gone. */
function noteOf(subtask: Subtask, moment: Moment): string {
  const { claim, status } = subtask;
  if (status !== 'in_progress' || claim === undefined || isHeld(subtask, moment)) return '';
  const ago = spanText(Math.max(0, moment.now - claim.heartbeatAt));
  return ` (free again: ${claim.agent} was last heard of ${ago} ago)`;
}

/** A subtask as programs get it: the names of the files. */
export function subtaskView(subtask: Subtask, moment: Moment) {
  const { claim, startedAt, completedAt } = subtask;
  return {
    seq: subtask.seq,
    id: subtask.id,
    title: subtask.title,
    status: subtask.status,
    /** What counts: it differs where a claim ran out. */
    effective_status: effectiveStatus(subtask, moment),
    depends_on: subtask.dependsOn,
    parallel: subtask.parallel,
    suggested_agent: subtask.suggestedAgent ?? null,
    deliverables: subtask.deliverables,
    agent_id: subtask.agentId ?? null,
    lease_until: claim === undefined ? null : isoTime(claim.leaseUntil),
    started_at: startedAt === undefined ? null : isoTime(startedAt),
    completed_at: completedAt === undefined ? null : isoTime(completedAt),
    completion_summary: subtask.completionSummary ?? null,
    blocked_reason: subtask.blockedReason ?? null,
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
