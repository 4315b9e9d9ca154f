import { VolleyError } from '../../core/errors.ts';
import type { Feature, Subtask } from '../feature.ts';
import { subtaskOf } from '../lookup.ts';
import { type Change, checkText, refused } from './change.ts';
import { type Moment, timeText } from './moment.ts';
import { isHeld, openDependencies } from './readiness.ts';

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
): Change | undefined {
  const { failures, force, passed, summary } = request;
  checkText('summary', summary);
  const subtask = subtaskOf(feature, request.seq);
  if (subtask.status === 'completed') return undefined;
  const obstacles = obstaclesTo(feature, subtask, request.agent, moment);
  if (!force) {
    if (obstacles.length > 0)
      throw refused(feature, subtask, `cannot be completed: ${obstacles.join('; ')}.`, { obstacles });
    if (failures.length > 0) throw verificationFailed(feature, subtask, failures);
  }
  const overruled = [...obstacles, ...failures];
  return {
    file: subtask.file,
    fields: {
      status: 'completed',
      completed_at: timeText(moment.now),
      completion_summary: summary,
      ...agentField(request, subtask),
      claim: undefined,
      marked: undefined,
      blocked_reason: undefined,
      verified_at: overruled.length === 0 && passed > 0 ? timeText(moment.now) : undefined,
      forced: overruled.length === 0 ? undefined : { at: timeText(moment.now), in_spite_of: overruled },
    },
  };
}

/** Whether somebody completed it who is not this agent. */
export function isAnothers({ status, agentId }: Subtask, agent: string): boolean {
  return status === 'completed' && agentId !== agent;
}

/** Whoever takes it out of the hands of a run's agent has not let that do it. */
function agentField({ agent }: CompleteRequest, { claim }: Subtask): { agent_id?: string | null } {
  if (agent !== undefined) return { agent_id: agent };
  return claim?.process === undefined ? {} : { agent_id: null };
}

/** What stands in the way of completing a subtask, before its work is looked at. */
export function obstaclesTo(
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
    obstacles.push(`${claim.agent} has claimed it until ${timeText(claim.leaseUntil)}`);
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
