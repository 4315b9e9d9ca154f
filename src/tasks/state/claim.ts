import type { ProcessIdentity } from '../../store/process-identity.ts';
import type { Feature } from '../feature.ts';
import { subtaskOf } from '../lookup.ts';
import { type Change, checkText, refused } from './change.ts';
import { type Moment, timeText } from './moment.ts';
import { isHeld, openDependencies, statusNow } from './readiness.ts';

export interface ClaimRequest {
  readonly seq: string;
  readonly agent: string;
  readonly leaseMs: number;
  /** Binds the claim to a process: when that is gone, the subtask is free at once. */
  readonly process?: ProcessIdentity;
}

/** Gives a subtask to an agent for a while. The agent that has it already gets a new lease: that is its heartbeat. */
export function claimSubtask(feature: Feature, request: ClaimRequest, moment: Moment): Change {
  const { agent, leaseMs, process } = request;
  checkText('name of the agent', agent);
  const subtask = subtaskOf(feature, request.seq);
  const { claim, file } = subtask;
  const isOwn = claim?.agent === agent && subtask.status === 'in_progress';
  if (!isOwn) {
    if (claim !== undefined && isHeld(subtask, moment)) {
      throw refused(
        feature,
        subtask,
        `is claimed by ${claim.agent} until ${timeText(claim.leaseUntil)}. Take another one, or wait until then.`,
        { agent: claim.agent, leaseUntil: timeText(claim.leaseUntil) },
      );
    }
    const status = statusNow(subtask, moment);
    if (status !== 'pending') throw refused(feature, subtask, whyNotOpen(status));
    const open = openDependencies(feature, subtask);
    if (open.length > 0) throw refused(feature, subtask, `waits for ${open.join(', ')}.`, { open });
  }
  return {
    file,
    fields: {
      status: 'in_progress',
      agent_id: agent,
      // Work that somebody left behind began when they began.
      started_at: timeText((subtask.status === 'in_progress' ? subtask.startedAt : undefined) ?? moment.now),
      ...(!isOwn && { marked: undefined }),
      claim: {
        agent,
        heartbeat_at: timeText(moment.now),
        lease_until: timeText(moment.now + leaseMs),
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
