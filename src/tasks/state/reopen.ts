import type { Feature } from '../feature.ts';
import { subtaskOf } from '../lookup.ts';
import type { Change } from './change.ts';

/** Gives a subtask back whose work is not there, whatever it was marked as. One that is blocked, or open, stays so. */
export function reopenSubtask(feature: Feature, seq: string): Change | undefined {
  const { status, file } = subtaskOf(feature, seq);
  if (status !== 'in_progress' && status !== 'completed') return undefined;
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
