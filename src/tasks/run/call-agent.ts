import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { AgentEvent, AgentTask } from '../../agents/adapter.ts';
import { agentFailure } from '../../agents/agent-failure.ts';
import { type AgentExit, type AgentLog, runAgent } from '../../agents/agent-process.ts';
import { type ChosenAgent, withProgram } from '../../agents/find-agent.ts';
import { sumUsage } from '../../agents/usage.ts';
import { oneLine } from '../../batch/text.ts';
import { requireUnchanged } from '../../config/trust.ts';
import { VolleyError } from '../../core/errors.ts';
import { listText } from '../../core/words.ts';
import type { ToolFailure } from '../../engine/tool-failure.ts';
import type { Feature, Subtask } from '../files/feature.ts';
import { subtaskView } from '../files/feature-text.ts';
import { readySubtasks } from '../files/readiness.ts';
import { blockSubtask } from '../files/subtask-changes.ts';
import { compareSeqs, findSubtask, seqFromReference } from '../files/subtask-reference.ts';
import { AGENT_VARIABLE, PROJECT_VARIABLE, WORKSPACE_VARIABLE } from '../files/task-folder.ts';
import { completedAnswer, verifyAndComplete } from '../verify/complete.ts';
import type { Conflict, Workspace } from '../workspace/workspace.ts';
import type { AttemptContext, Delegation } from './delegate.ts';
import { type AgentRequest, Mailbox } from './mailbox.ts';
import { buildPrompt } from './prompt.ts';
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
/** The siblings that an agent is told of. */
const MAX_MATES = 50;

/** Runs the agent of a subtask until it exits. Throws if it had to be terminated. */
export async function callAgent(
  run: RunContext,
  delegation: Delegation,
  workspace: Workspace,
  { signal, report }: AttemptContext,
): Promise<AgentEnd> {
  const { agent, subtask, record, transcript } = delegation;
  const { terms } = run;
  // Another agent may have changed the configuration that this one is started with.
  requireUnchanged(run.trust);
  const stateFolder = await mkdtemp(join(run.scratch, 'agent-'));
  const ended = new AbortController();
  const requestSignal = AbortSignal.any([signal, ended.signal]);
  const mailbox = await Mailbox.open(run.scratch, (request) =>
    handleAgentRequest(run, delegation, workspace, request, requestSignal),
  );
  const log: AgentLog = { usage: {}, lastText: undefined, result: undefined };
  const usedBefore = sumUsage(run.attempts.of(subtask.seq).map(({ usage }) => usage));
  try {
    const env = {
      ...run.env,
      ...agent.env,
      VOLLEY_FEATURE: run.feature,
      VOLLEY_SUBTASK: subtask.seq,
      [AGENT_VARIABLE]: claimNameOf(run, agent),
      [PROJECT_VARIABLE]: run.folder.project,
      [WORKSPACE_VARIABLE]: workspace.folder,
      ...mailbox.env,
    };
    const { turns } = terms.budget;
    const prompt = promptOf(run, delegation, workspace);
    transcript.add({ type: 'prompt', text: prompt });
    const task: AgentTask = {
      prompt,
      cwd: workspace.folder,
      stateFolder,
      writes: true,
      mailbox: mailbox.folder,
      env,
      model: agent.model,
      deniedPaths: run.denied.globs,
      allowedCommands: run.settings.allowedCommands,
      maxTurns: turns === undefined ? undefined : Math.max(1, turns - (usedBefore.turns ?? 0)),
    };
    const command = withProgram(await agent.adapter.command(task), agent);
    report(`starting ${agent.name}`);
    const exit = await runAgent(
      run.launcher,
      {
        command,
        reader: agent.adapter.reader(),
        cwd: workspace.folder,
        env,
        stallMs: terms.stallMs,
        budget: terms.budget,
        usedBefore,
        signal,
        onLine: (type, text) => transcript.add({ type, text }),
        onEvent: (event) => {
          transcript.add(event);
          record.usage = log.usage;
          const step = stepOf(event);
          if (step !== '') report(step);
        },
      },
      log,
    );
    return endOf(run, agent, exit, log);
  } finally {
    // Requests of the agent are ignored from now on.
    ended.abort();
    await mailbox.close();
    record.usage = log.usage;
    record.lastMessage =
      run.redact(log.result?.text ?? log.lastText ?? '').slice(0, MAX_MESSAGE_LENGTH) || undefined;
    await rm(stateFolder, { recursive: true, force: true }).catch(() => undefined);
  }
}

function promptOf(run: RunContext, delegation: Delegation, workspace: Workspace): string {
  const { session, template } = run;
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
  const interrupted = last?.isRefused ? ['A usage limit or an outage interrupted the last attempt.'] : [];
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

function stepOf(event: AgentEvent): string {
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
