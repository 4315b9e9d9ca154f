import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { agentFailure } from '../../agents/agent-failure.ts';
import type { AgentExit, AgentLog } from '../../agents/agent-process.ts';
import type { ChosenAgent } from '../../agents/find-agent.ts';
import { sumUsage } from '../../agents/usage.ts';
import { oneLine } from '../../batch/text.ts';
import { requireUnchanged } from '../../config/trust.ts';
import { VolleyError } from '../../core/errors.ts';
import { listText, reasonText } from '../../core/words.ts';
import type { ToolFailure } from '../../engine/tool-failure.ts';
import type { Feature, Subtask } from '../files/feature.ts';
import { subtaskView } from '../files/feature-text.ts';
import { readySubtasks } from '../files/readiness.ts';
import { blockSubtask } from '../files/subtask-changes.ts';
import { compareSeqs, findSubtask, seqFromReference } from '../files/subtask-reference.ts';
import { completedAnswer, verifyAndComplete } from '../verify/complete.ts';
import type { Conflict, Workspace } from '../workspace/workspace.ts';
import { type AgentRun, runAttemptAgent } from './agent-run.ts';
import type { AttemptContext, Delegation } from './delegate.ts';
import type { AgentRequest } from './mailbox.ts';
import { buildPrompt } from './prompt.ts';
import { newProjectMark, runRemoteAgent, sentPath } from './remote-agent.ts';
import type { PrintedEvent } from './run-agent-tool.ts';
import { claimNameOf, type RunContext, type SubtaskAttempt } from './run-context.ts';

/** How an agent ended, by its own account. */
export interface AgentEnd {
  readonly said: 'done' | 'nothing';
  readonly text: string | undefined;
  /** Set if it exited with a failure. */
  readonly failure: ToolFailure | undefined;
}

const MAX_STEP_LENGTH = 200;
const MAX_MESSAGE_LENGTH = 4000;
/** How many siblings the prompt of an agent lists. */
const MAX_MATES = 50;

/** Runs the agent of a subtask until it exits, here or on the worker of the attempt. Throws if it had to be terminated. */
export async function callAgent(
  run: RunContext,
  delegation: Delegation,
  workspace: Workspace,
  context: AttemptContext,
): Promise<AgentEnd> {
  const { agent, subtask, record, transcript } = delegation;
  const { terms, settings } = run;
  const { signal, report, on } = context;
  const log: AgentLog = { usage: {}, lastText: undefined, result: undefined };
  const usedBefore = sumUsage(run.attempts.of(subtask.seq).map(({ usage }) => usage));
  const projectMark = on === undefined ? undefined : newProjectMark();
  const prompt = promptOf(run, delegation, workspace, projectMark);
  transcript.add({ type: 'prompt', text: prompt });
  const order: AgentRun = {
    ...{ feature: run.feature, seq: subtask.seq, agent, claim: claimNameOf(run, agent), prompt, usedBefore },
    ...{ deniedPaths: run.denied.globs, allowedCommands: settings.allowedCommands },
    ...{ stallMs: terms.stallMs, budget: terms.budget },
  };
  const onEvent = (event: PrintedEvent) => {
    transcript.add(event);
    record.usage = sumUsage([log.usage, ...(event.type === 'usage' && on !== undefined ? [event] : [])]);
    const step = stepOf(event);
    if (step !== '') report(step);
  };
  const handle = (request: AgentRequest, requestSignal: AbortSignal) =>
    handleAgentRequest(run, delegation, workspace, request, requestSignal);
  try {
    if (on === undefined || projectMark === undefined) {
      // Another agent may have changed the configuration that this one is started with.
      requireUnchanged(run.trust);
      report(`starting ${agent.name}`);
      const { launcher, env, scratch, folder } = run;
      const place = { launcher, env, scratch, project: folder.project, folder: workspace.folder };
      return endOf(run, agent, await runAttemptAgent(order, { ...place, signal, onEvent, handle }, log), log);
    }
    // It can change nothing here.
    record.isActive = false;
    const { end, request } = await runRemoteAgent(
      {
        ...{ on, workspace, run: order, projectMark, signal, onEvent, report },
        ...run.repository!,
        ...{ timeoutMs: terms.timeoutMs, scratch: run.scratch, project: run.folder.project },
        files: await sentFiles(run),
      },
      log,
    );
    record.isActive = true;
    if (request !== undefined)
      await handle(request, signal).catch((error: unknown) => {
        signal.throwIfAborted();
        transcript.note(reasonText(error));
      });
    return endOf(run, agent, end(), log);
  } finally {
    record.usage = log.usage;
    record.lastMessage =
      run.redact(log.result?.text ?? log.lastText ?? '').slice(0, MAX_MESSAGE_LENGTH) || undefined;
  }
}

/** What is sent to a worker besides commits: the task files of the feature, and the context of the session. */
async function sentFiles({ folder, feature, session }: RunContext): Promise<string[]> {
  const place = join(folder.path, feature);
  const entries = await readdir(place, { withFileTypes: true });
  // No links: an agent could have made one to a file of the user.
  const files = entries.filter((entry) => entry.isFile() && entry.name.endsWith('.json'));
  return [...files.map(({ name }) => join(place, name)), ...(session === undefined ? [] : [session])];
}

function promptOf(
  run: RunContext,
  delegation: Delegation,
  workspace: Workspace,
  projectMark: string | undefined,
): string {
  const { session: file, template } = run;
  const isSent = file !== undefined && projectMark !== undefined;
  const session = isSent ? sentPath(projectMark, run.folder.project, file) : file;
  const { feature, subtask } = delegation;
  const conflict = workspace.conflict && conflictText(run, workspace.conflict);
  return buildPrompt(subtask, feature, {
    session,
    batchMates: matesOf(run, feature, subtask),
    template,
    earlier: earlierText(run, delegation, workspace),
    conflict,
  });
}

/** What failed before. A limit or an outage is no evidence against the work, and does not replace such evidence. */
function earlierText(run: RunContext, { subtask, record }: Delegation, workspace: Workspace): string[] {
  const before = run.attempts.of(subtask.seq).slice(0, -1);
  const last = before.at(-1);
  const failed = before.findLast(({ isRefused }) => !isRefused);
  const why = failed?.error === undefined ? rejectionText(subtask, workspace) : [failed.error];
  const interrupted = last?.wasLost
    ? ['The machine of the last attempt was lost, with what it had done there.']
    : last?.isRefused
      ? ['A usage limit or an outage interrupted the last attempt.']
      : [];
  const where = last?.error === undefined ? [] : whereText(last, record, workspace);
  return [...new Set([...why, ...interrupted, ...where])];
}

/** Why the work of an earlier run was rejected. */
function rejectionText({ rejection }: Subtask, { branch }: Workspace): string[] {
  if (rejection === undefined) return [];
  return [
    rejection.by === 'person' ? rejectedText(rejection.why) : rejection.why,
    ...(rejection.branch === branch ? ['Its work is in this folder. Continue with it.'] : []),
  ];
}

export function rejectedText(why: string): string {
  return `A reviewer rejected the work: ${why}`;
}

/** Where the work of the previous attempt is. */
function whereText(last: SubtaskAttempt, record: SubtaskAttempt, { branch, conflict }: Workspace): string[] {
  if (conflict !== undefined) return [];
  if (branch !== undefined && branch === last.branch)
    return ['Its work is in this folder. Continue with it.'];
  return last.kept === undefined || last.kept === record.kept
    ? []
    : [`Its work is kept in ${last.kept}; it is not here.`];
}

/** Subtasks that other agents work on at the same time: those that run now, and those that may start any moment. */
function matesOf(run: RunContext, feature: Feature, { seq }: Subtask): readonly Subtask[] {
  const mates = new Map([...run.working.values()].map(({ subtask }) => [subtask.seq, subtask]));
  for (const subtask of readySubtasks(feature, run.folder.moment())) {
    if (mates.size > MAX_MATES) break;
    if (run.agents.has(subtask.seq) && subtask.parallel) mates.set(subtask.seq, subtask);
  }
  mates.delete(seq);
  return [...mates.values()].sort((a, b) => compareSeqs(a.seq, b.seq));
}

function conflictText({ merged, attempts }: RunContext, { paths, ofProject, ofWork }: Conflict): string[] {
  const isInvolved = ({ seq }: Subtask) =>
    attempts
      .of(seq)
      .at(-1)
      ?.touched.some((path) => paths.includes(path));
  const by = merged
    .filter((one) => paths.length === 0 || isInvolved(one))
    .map(({ seq, title }) => `${seq} ${title}`);
  const whose = by.length === 0 ? '' : `, by ${listText(by.slice(0, MAX_MATES), by.length)}`;
  return [
    `The work of the previous attempt does not fit what was merged into the project meanwhile${whose}. This folder has the current project with that work merged into it.`,
    ...(paths.length === 0
      ? ['Git could merge both. Make them work together.']
      : [
          `These files have conflict markers: ${listText(paths)}. Above \`=======\` is the version of the project, below it that of the previous attempt. Keep the intention of both, and remove the markers.`,
          `What the project changed there:\n\n${ofProject}`,
          `What the previous attempt changed there:\n\n${ofWork}`,
        ]),
  ];
}

function stepOf(event: PrintedEvent): string {
  switch (event.type) {
    case 'text':
      return oneLine(event.text, MAX_STEP_LENGTH);
    case 'tool':
      return oneLine(
        event.detail === undefined ? event.name : `${event.name} ${event.detail}`,
        MAX_STEP_LENGTH,
      );
    default:
      return '';
  }
}

function endOf(run: RunContext, agent: ChosenAgent, exit: AgentExit, log: AgentLog): AgentEnd {
  const text = log.result?.text ?? log.lastText;
  const failure = agentFailure(agent, exit, log, (said) => run.redact(said));
  const said = failure === undefined && log.result !== undefined ? 'done' : 'nothing';
  return { said, text, failure };
}

/** Handles a request from the agent of an attempt: to complete or block its own subtask. */
async function handleAgentRequest(
  run: RunContext,
  { agent, subtask }: Delegation,
  workspace: Workspace,
  request: AgentRequest,
  signal: AbortSignal,
) {
  signal.throwIfAborted();
  const { folder, feature } = run;
  const { seq } = subtask;
  if (request.feature !== feature || seqFromReference(request.seq, feature) !== seq) {
    const message = `The agent of ${feature} ${seq} can only complete or block its own subtask, not ${request.feature} ${request.seq}.`;
    throw new VolleyError('SUBTASK_REFUSED', message, { feature, seq });
  }
  if (request.action === 'block') {
    const { reason } = request;
    const blocked = await folder.change(feature, (now) => blockSubtask(now, { seq, reason }));
    const view = subtaskView(findSubtask(blocked, seq), folder.moment());
    return { data: { feature, subtask: view }, text: `Blocked ${seq} of ${feature}.` };
  }
  const completion = {
    ...{ seq, signal, env: run.env },
    summary: request.summary,
    agent: claimNameOf(run, agent),
    workspace: workspace.folder,
  };
  const completed = await verifyAndComplete(folder, feature, completion, run.commands);
  return completedAnswer(completed, seq, folder.moment());
}
