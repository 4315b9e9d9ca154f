import type { Feature } from '../feature.ts';
import { subtaskOf } from '../lookup.ts';
import { type Change, checkText, refused } from './change.ts';

/** Takes a subtask out of what can be started, and says why. Whoever has it loses it. */
export function blockSubtask(feature: Feature, request: { seq: string; reason: string }): Change {
  checkText('reason', request.reason);
  const subtask = subtaskOf(feature, request.seq);
  if (subtask.status === 'completed') throw refused(feature, subtask, 'is completed already.');
  return {
    file: subtask.file,
    fields: { status: 'blocked', blocked_reason: request.reason, claim: undefined },
  };
}

export function unblockSubtask(feature: Feature, request: { seq: string }): Change {
  const subtask = subtaskOf(feature, request.seq);
  if (subtask.status !== 'blocked') throw refused(feature, subtask, `is ${subtask.status}, not blocked.`);
  return {
    file: subtask.file,
    fields: { status: 'pending', blocked_reason: undefined, agent_id: null, started_at: null },
  };
}
