import { rm } from 'node:fs/promises';
import type { TaskBudget, TaskSettings } from '../../config/config.ts';
import { requireUnchanged, type WorkspaceTrust } from '../../config/trust.ts';
import { VolleyError } from '../../core/errors.ts';
import { nearest } from '../../core/nearest.ts';
import { printableLine } from '../../core/printable-text.ts';
import { makeTemporaryFolder } from '../../runners/process/confinement.ts';
import type { Launcher } from '../../runners/process/launcher.ts';
import { startProblem } from '../../runners/process/shell-limits.ts';
import type { Spending } from '../../runners/runner.ts';
import type { JsonSchema } from '../../tools/schema.ts';
import type { AgentEvent, AgentUsage } from '../adapter.ts';
import { ADAPTER_NAMES, wholeOutputReader } from '../adapters.ts';
import { agentFailure } from '../agent-failure.ts';
import { type AgentLog, runAgent } from '../agent-process.ts';
import { agentOf, type ChosenAgent, withProgram } from '../find-agent.ts';
import { sumUsage } from '../usage.ts';
import {
  type Accepted,
  type AnswerCheck,
  askUntilAccepted,
  type Rejected,
  rejectionText,
  type Said,
  schemaText,
} from './answer.ts';

/** What is needed to ask agents. */
export interface AgentAccess {
  readonly settings: TaskSettings;
  /** Of the folder whose configuration names the agents. */
  readonly trust: WorkspaceTrust;
  /** The environment of agents. */
  readonly env: Readonly<Record<string, string>>;
  launcher(): Launcher;
}

/** The folder of an agent that may change files. */
interface WritableFolder {
  /** Globs that it may not touch. */
  readonly deniedPaths: readonly string[];
  /** What is wrong with its changes, if anything. Called after each answer. */
  problem(): Promise<string | undefined>;
}

/** A question to an agent, which reads the files of a folder. */
interface Question<T = unknown> {
  readonly agent: ChosenAgent;
  readonly prompt: string;
  /** Paths that the prompt is about, as the agent finds them in its folder. */
  readonly files: readonly string[];
  /** Absolute. */
  readonly folder: string;
  /** Set if it may change files there. */
  readonly writable?: WritableFolder | undefined;
  /** Only to describe the answer; `check` decides. */
  readonly schema?: JsonSchema | undefined;
  readonly check: AnswerCheck<T>;
  readonly maxAsks: number;
  readonly budget: TaskBudget;
  readonly signal: AbortSignal;
  readonly report: (step: string) => void;
  /** Called with what each answer cost. */
  readonly spent: (spending: Spending) => void;
}

const MAX_STEP_LENGTH = 200;
const READING = 'Only read: do not change, create or delete any files.';
const WRITING =
  'You may change files in this folder and below it. It is a git worktree of your own; what you change there is kept.';
const ANSWERING = 'Nobody can answer questions. Your last message is the answer.';
const CONTINUING = 'What you changed before is still in this folder.';

/** Asks an agent until its answer is accepted. Each question is a process of its own. */
export async function questionAgent<T>(access: AgentAccess, question: Question<T>): Promise<Accepted<T>> {
  const { check, maxAsks, report } = question;
  let used: AgentUsage = {};
  return askUntilAccepted(
    async (rejected) => {
      const { said, usage } = await askOnce(access, question, rejected, used);
      used = sumUsage([used, usage]);
      return said;
    },
    check,
    maxAsks,
    (problem) => report(stepText(`not accepted: ${problem}`)),
  );
}

/** Finds an agent to ask: the named one, or that of the configuration. Checks that it can be started. */
export function agentToAsk(
  { settings, env }: AgentAccess,
  name: string | undefined,
  folder: string,
): ChosenAgent {
  const wanted = name ?? settings.agent;
  const known = [...Object.keys(settings.agents), ...ADAPTER_NAMES.filter((one) => one !== 'command')];
  if (wanted === undefined)
    throw refused(
      'AGENT_NOT_ALLOWED',
      `Name an agent: ${known.join(', ')}. Or set agent in [tasks] of volley.toml.`,
    );
  const agent = agentOf(wanted, settings);
  if (agent === undefined) {
    const close = nearest(wanted, known);
    const hint = close === undefined ? `Known are ${known.join(', ')}.` : `Did you mean ${close}?`;
    throw refused('AGENT_NOT_ALLOWED', `There is no agent ${JSON.stringify(wanted)}. ${hint}`, {
      agent: wanted,
    });
  }
  const PATH = agent.env['PATH'] ?? env['PATH'];
  const problem = startProblem({
    argv: [agent.starts],
    cwd: folder,
    env: PATH === undefined ? {} : { PATH },
  });
  if (problem === undefined) return agent;
  throw refused(
    'AGENT_NOT_INSTALLED',
    `Cannot run ${JSON.stringify(agent.starts)}, the program of agent ${agent.name} (${problem}).`,
    { agent: agent.name, program: agent.starts },
  );
}

async function askOnce(
  { settings, trust, env: usual, launcher }: AgentAccess,
  question: Question,
  rejected: Rejected | undefined,
  usedBefore: AgentUsage,
): Promise<{ readonly said: Said; readonly usage: AgentUsage }> {
  const { agent, folder, writable, budget, signal, report } = question;
  // Another agent may have changed the configuration that this one is started with.
  requireUnchanged(trust);
  const stateFolder = await makeTemporaryFolder();
  const env = { ...usual, ...agent.env };
  const log: AgentLog = { usage: {}, lastText: undefined, result: undefined };
  let hasAnswered = false;
  try {
    const command = await agent.adapter.command({
      prompt: promptText(question, rejected),
      cwd: folder,
      stateFolder,
      writes: writable !== undefined,
      mailbox: undefined,
      env,
      model: agent.model,
      deniedPaths: writable?.deniedPaths ?? [],
      allowedCommands: writable === undefined ? [] : settings.allowedCommands,
      maxTurns: budget.turns === undefined ? undefined : Math.max(1, budget.turns - (usedBefore.turns ?? 0)),
    });
    const exit = await runAgent(
      launcher(),
      {
        command: withProgram(command, agent),
        reader: agent.adapter.name === 'command' ? wholeOutputReader() : agent.adapter.reader(),
        cwd: folder,
        env,
        stallMs: settings.stallMs,
        budget,
        usedBefore,
        signal,
        onLine: () => undefined,
        onEvent: (event) => {
          const step = stepOf(event);
          if (step !== '') report(step);
        },
      },
      log,
    );
    const failure = agentFailure(agent, exit, log);
    if (failure !== undefined) throw failure;
    hasAnswered = true;
    const problem = await writable?.problem();
    return {
      said: { text: log.result?.text ?? log.lastText ?? '', problem, ...spendingOf(log.usage) },
      usage: log.usage,
    };
  } finally {
    // A failure costs, too, but not one before the model was asked.
    const { inputTokens = 0, costUsd } = log.usage;
    if (hasAnswered || inputTokens > 0 || costUsd !== undefined) question.spent(spendingOf(log.usage));
    await rm(stateFolder, { recursive: true, force: true }).catch(() => undefined);
  }
}

function promptText({ prompt, files, schema, writable }: Question, rejected: Rejected | undefined): string {
  const parts = [
    prompt,
    ...(files.length === 0 ? [] : [`Files:\n${files.map((path) => `- ${path}`).join('\n')}`]),
    `${writable === undefined ? READING : WRITING} ${ANSWERING}`,
    ...(schema === undefined ? [] : [schemaText(schema)]),
    ...(rejected === undefined
      ? []
      : [
          `${rejectionText(rejected)}${writable === undefined ? '' : ` ${CONTINUING}`} It was:\n\n${rejected.answer}`,
        ]),
  ];
  return `${parts.join('\n\n')}\n`;
}

function spendingOf({ inputTokens = 0, outputTokens = 0, costUsd }: AgentUsage): Spending {
  return { inputTokens, outputTokens, ...(costUsd !== undefined && { costUsd }) };
}

function stepOf(event: AgentEvent): string {
  if (event.type === 'text') return stepText(event.text);
  if (event.type !== 'tool') return '';
  return stepText(event.detail === undefined ? event.name : `${event.name} ${event.detail}`);
}

function stepText(text: string): string {
  return printableLine(text.slice(0, 2 * MAX_STEP_LENGTH)).slice(0, MAX_STEP_LENGTH);
}

function refused(
  code: 'AGENT_NOT_ALLOWED' | 'AGENT_NOT_INSTALLED',
  message: string,
  details: object = {},
): VolleyError {
  return Object.assign(new VolleyError(code, message, { ...details }), { retryable: false });
}
