import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { oneLine } from '../../batch/text.ts';
import { requireUnchanged } from '../../config/trust.ts';
import { VolleyError } from '../../core/errors.ts';
import { ToolFailure } from '../../engine/tool-failure.ts';
import type { ToolContext } from '../../runners/runner.ts';
import type { AgentCommand, AgentEvent, AgentTask } from '../agents/adapter.ts';
import { type AgentExit, type AgentLog, runAgent } from '../agents/agent-process.ts';
import type { ChosenAgent } from '../agents/choose-agents.ts';
import { buildPrompt } from '../agents/prompt.ts';
import { sumUsage } from '../agents/usage.ts';
import { subtaskView } from '../files/feature-text.ts';
import { blockSubtask } from '../files/subtask-changes.ts';
import { findSubtask, seqFromReference } from '../files/subtask-reference.ts';
import { AGENT_VARIABLE, PROJECT_VARIABLE, WORKSPACE_VARIABLE } from '../files/task-folder.ts';
import { completedAnswer, verifyAndComplete } from '../verify/complete.ts';
import type { Workspace } from '../workspace/workspace.ts';
import type { Delegation } from './delegate.ts';
import { type AgentRequest, Mailbox } from './mailbox.ts';
import { claimNameOf, type RunContext } from './run-context.ts';

/** How an agent ended, by its own account. */
export interface AgentEnd {
  readonly said: 'done' | 'nothing';
  readonly text: string | undefined;
  /** Set if it exited with a failure. */
  readonly failure: ToolFailure | undefined;
}

const MAX_STEP_LENGTH = 200;

/** Runs the agent of a subtask until it exits. Throws if it had to be terminated. */
export async function callAgent(
  run: RunContext,
  delegation: Delegation,
  workspace: Workspace,
  { signal, report }: ToolContext,
): Promise<AgentEnd> {
  const { agent, subtask, record } = delegation;
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
    const task: AgentTask = {
      prompt: promptOf(run, delegation),
      cwd: workspace.folder,
      stateFolder,
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
        onEvent: (event) => {
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
    record.lastMessage = run.redact(log.result?.text ?? log.lastText ?? '') || undefined;
    await rm(stateFolder, { recursive: true, force: true }).catch(() => undefined);
  }
}

function promptOf(run: RunContext, { feature, subtask }: Delegation): string {
  const { session, template, attempts, working } = run;
  const running = [...working.values()].map((one) => one.subtask);
  const batchMates = running.filter(({ seq }) => seq !== subtask.seq);
  const last = attempts.of(subtask.seq).at(-2);
  const kept = last?.kept === undefined ? [] : [`Its work is kept in ${last.kept}; it is not here.`];
  const earlier = last?.error === undefined ? undefined : [last.error, ...kept];
  return buildPrompt(subtask, feature, { session, batchMates, template, earlier });
}

/** The user's own command replaces the adapter's program. */
function withProgram(command: AgentCommand, { program }: ChosenAgent): AgentCommand {
  if (program === undefined) return command;
  return { ...command, argv: [...program, ...command.argv.slice(1)] as [string, ...string[]] };
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

function endOf(
  run: RunContext,
  { name }: ChosenAgent,
  { exitCode, signal, errors }: AgentExit,
  { result, lastText }: AgentLog,
): AgentEnd {
  const text = result?.text ?? lastText;
  if (exitCode === 0 && result?.ok !== false)
    return { said: result === undefined ? 'nothing' : 'done', text, failure: undefined };
  const how =
    signal !== undefined
      ? `was terminated by ${signal}`
      : exitCode === 0
        ? 'reported a failure'
        : `exited with status ${exitCode}`;
  const why = run.redact((exitCode === 0 ? text : errors || text) ?? '').trim();
  const message = `${name} ${how}${why === '' ? '.' : `: ${why}`}`;
  const reason = signal === undefined ? 'error' : 'crashed';
  return { said: 'nothing', text, failure: new ToolFailure(message, { reason }) };
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
