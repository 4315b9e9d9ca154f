import type { Feature } from '../feature.ts';
import { subtaskOf } from '../lookup.ts';
import type { Change } from './change.ts';
import { isAnothers } from './complete.ts';

/**
 * Gives back a subtask whose work is not there, whatever its agent has marked it as. One that is blocked or open, or that
 * somebody else has completed, stays so.
 */
export function reopenSubtask(feature: Feature, seq: string, agent: string): Change | undefined {
  const subtask = subtaskOf(feature, seq);
  const { status, file } = subtask;
  if (status !== 'in_progress' && status !== 'completed') return undefined;
  if (isAnothers(subtask, agent)) return undefined;
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
