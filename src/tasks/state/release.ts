import type { Feature } from '../feature.ts';
import { subtaskOf } from '../lookup.ts';
import { type Change, refused } from './change.ts';

/** Gives a subtask back: it is open again, and nobody's. With an agent's name, only if that agent has it. */
export function releaseSubtask(
  feature: Feature,
  request: { seq: string; agent?: string | undefined },
): Change {
  const subtask = subtaskOf(feature, request.seq);
  if (subtask.status !== 'in_progress') {
    throw refused(feature, subtask, `is ${subtask.status}, so there is nothing to release.`);
  }
  const holder = subtask.claim?.agent ?? subtask.agentId;
  if (request.agent !== undefined && request.agent !== holder) {
    throw refused(feature, subtask, `is not ${request.agent}'s: ${holder ?? 'nobody'} has it.`, {
      agent: holder,
    });
  }
  return {
    file: subtask.file,
    fields: { status: 'pending', agent_id: null, started_at: null, claim: undefined, marked: undefined },
  };
}
