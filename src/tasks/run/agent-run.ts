import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { AgentUsage } from '../../agents/adapter.ts';
import { type AgentExit, type AgentLog, runAgent } from '../../agents/agent-process.ts';
import { type ChosenAgent, withProgram } from '../../agents/find-agent.ts';
import type { TaskBudget } from '../../config/config.ts';
import type { Launcher } from '../../runners/process/launcher.ts';
import { AGENT_VARIABLE, PROJECT_VARIABLE, WORKSPACE_VARIABLE } from '../files/task-folder.ts';
import { type AgentRequest, Mailbox } from './mailbox.ts';
import type { PrintedEvent } from './run-agent-tool.ts';

/** The agent of an attempt, its task and its limits. */
export interface AgentRun {
  readonly feature: string;
  readonly seq: string;
  readonly agent: ChosenAgent;
  /** The name under which it has claimed the subtask. */
  readonly claim: string;
  readonly prompt: string;
  readonly deniedPaths: readonly string[];
  readonly allowedCommands: readonly string[] | undefined;
  readonly stallMs: number;
  readonly budget: TaskBudget;
  readonly usedBefore: AgentUsage;
}

/** Where the agent of an attempt runs, on this machine. */
export interface AgentPlace {
  readonly launcher: Launcher;
  readonly env: Readonly<Record<string, string>>;
  /** A temporary folder. */
  readonly scratch: string;
  /** The folder that has the task files. */
  readonly project: string;
  /** Where it works. */
  readonly folder: string;
  readonly signal: AbortSignal;
  readonly onEvent: (event: PrintedEvent) => void;
  /** Handles a request of the agent to complete or block its subtask. */
  handle(
    request: AgentRequest,
    signal: AbortSignal,
  ): Promise<{ data: Readonly<Record<string, unknown>>; text: string }>;
}

/** Runs the agent of an attempt until it exits. Throws if it had to be terminated. Requests are ignored afterwards. */
export async function runAttemptAgent(run: AgentRun, place: AgentPlace, log: AgentLog): Promise<AgentExit> {
  const { agent, prompt, budget, usedBefore, stallMs, deniedPaths, allowedCommands } = run;
  const { scratch, folder, launcher, signal, onEvent } = place;
  const stateFolder = await mkdtemp(join(scratch, 'agent-'));
  const ended = new AbortController();
  const requestSignal = AbortSignal.any([signal, ended.signal]);
  const mailbox = await Mailbox.open(scratch, (request) => place.handle(request, requestSignal));
  try {
    const env = {
      ...place.env,
      ...agent.env,
      VOLLEY_FEATURE: run.feature,
      VOLLEY_SUBTASK: run.seq,
      [AGENT_VARIABLE]: run.claim,
      [PROJECT_VARIABLE]: place.project,
      [WORKSPACE_VARIABLE]: folder,
      ...mailbox.env,
    };
    const { turns } = budget;
    const maxTurns = turns === undefined ? undefined : Math.max(1, turns - (usedBefore.turns ?? 0));
    const task = { prompt, cwd: folder, stateFolder, writes: true, mailbox: mailbox.folder, env };
    const command = await agent.adapter.command({
      ...task,
      ...{ model: agent.model, deniedPaths, allowedCommands, maxTurns },
    });
    const options = {
      command: withProgram(command, agent),
      reader: agent.adapter.reader(),
      cwd: folder,
      ...{ env, stallMs, budget, usedBefore, signal, onEvent },
      onLine: (type: 'stderr' | 'raw', text: string) => onEvent({ type, text }),
    };
    return await runAgent(launcher, options, log);
  } finally {
    ended.abort();
    await mailbox.close();
    await rm(stateFolder, { recursive: true, force: true }).catch(() => undefined);
  }
}
