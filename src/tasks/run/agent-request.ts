import { VolleyError } from '../../core/errors.ts';
import { complete } from '../complete.ts';
import { subtaskOf } from '../lookup.ts';
import type { AgentRequest } from '../mailbox/message.ts';
import { seqOfReference } from '../seq.ts';
import { blockSubtask } from '../state/block.ts';
import { completedAnswer } from '../text/completed-text.ts';
import { subtaskView } from '../view.ts';
import type { Workspace } from '../workspace/workspace.ts';
import type { Delegation } from './delegate.ts';
import { claimantOf, type RunParts } from './run-parts.ts';

/** Does what the agent of an attempt asks for: to complete or to block the subtask that it works on, and no other. */
export async function agentRequest(
  run: RunParts,
  { agent, subtask }: Delegation,
  workspace: Workspace,
  request: AgentRequest,
  signal: AbortSignal,
) {
  signal.throwIfAborted();
  const { folder, feature } = run;
  const { seq } = subtask;
  if (request.feature !== feature || seqOfReference(request.seq, feature) !== seq) {
    const message = `The agent of ${feature} ${seq} can only complete or block its own subtask, not ${request.feature} ${request.seq}.`;
    throw new VolleyError('SUBTASK_REFUSED', message, { feature, seq });
  }
  if (request.action === 'block') {
    const { reason } = request;
    const blocked = await folder.change(feature, (now) => blockSubtask(now, { seq, reason }));
    const view = subtaskView(subtaskOf(blocked, seq), folder.moment());
    return { data: { feature, subtask: view }, text: `${seq} of ${feature} is blocked.` };
  }
  const completion = {
    ...{ seq, signal, env: run.env },
    summary: request.summary,
    agent: claimantOf(run, agent),
    workspace: workspace.folder,
  };
  return completedAnswer(await complete(folder, feature, completion, run.commands), seq, folder.moment());
}
