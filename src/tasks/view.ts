import { type Feature, progressOf, type Subtask, titleOf } from './feature.ts';
import type { Moment } from './state/moment.ts';
import { timeText } from './state/moment.ts';
import { statusNow } from './state/readiness.ts';

/** A subtask as programs get it: the names of the files. */
export function subtaskView(subtask: Subtask, moment: Moment) {
  const { claim, startedAt, completedAt } = subtask;
  return {
    seq: subtask.seq,
    id: subtask.id,
    title: subtask.title,
    status: subtask.status,
    /** What counts: it differs where a claim ran out. */
    effective_status: statusNow(subtask, moment),
    depends_on: subtask.dependsOn,
    parallel: subtask.parallel,
    suggested_agent: subtask.suggestedAgent ?? null,
    deliverables: subtask.deliverables,
    agent_id: subtask.agentId ?? null,
    lease_until: claim === undefined ? null : timeText(claim.leaseUntil),
    started_at: startedAt === undefined ? null : timeText(startedAt),
    completed_at: completedAt === undefined ? null : timeText(completedAt),
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
