import { realpathSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { basename, join, posix } from 'node:path';
import type { AgentUsage } from '../../agents/adapter.ts';
import type { AgentLog } from '../../agents/agent-process.ts';
import { AgentWorktrees } from '../../agents/agent-worktrees.ts';
import { agentOf, type ChosenAgent } from '../../agents/find-agent.ts';
import type { VolleyConfig } from '../../config/config.ts';
import type { EnvironmentVariables } from '../../config/environment.ts';
import { requireUnchanged } from '../../config/trust.ts';
import type { OfferedAgents, OfferedRepository } from '../../coordinator/remote-runner.ts';
import { VolleyError } from '../../core/errors.ts';
import { reasonText, spanText } from '../../core/words.ts';
import { isToolFailure, ToolFailure } from '../../engine/tool-failure.ts';
import { readBundle, repositoryId, tipsOf, writeBundle } from '../../git/bundle.ts';
import { Repository } from '../../git/repository.ts';
import { makeTemporaryFolder } from '../../runners/process/confinement.ts';
import { createLauncher } from '../../runners/process/helper-launcher.ts';
import type { Launcher } from '../../runners/process/launcher.ts';
import { startProblem } from '../../runners/process/shell-limits.ts';
import { isInside } from '../../tools/builtin/roots.ts';
import type { Tool } from '../../tools/tool.ts';
import { agentEnvironment } from '../workspace/agent-environment.ts';
import { ChangeTracker } from '../workspace/change-tracker.ts';
import { runSetup } from '../workspace/worktrees.ts';
import { runAttemptAgent } from './agent-run.ts';
import type { AgentRequest } from './mailbox.ts';
import {
  type PrintedEvent,
  RETURNED,
  RETURNED_BUNDLE,
  RETURNED_EVENTS,
  type RunAgentInput,
  type RunAgentOutput,
  runAgentTool,
  SENT_BUNDLE,
  SENT_PROJECT,
  type WorkerContext,
} from './run-agent-tool.ts';
import { smallerBudget } from './run-request.ts';

interface HostOptions {
  readonly config: VolleyConfig;
  readonly env: EnvironmentVariables;
  /** Removes secrets. */
  redact(text: string): string;
  readonly notify: (text: string) => void;
}

interface OwnClone {
  readonly root: string;
  readonly git: Repository['git'];
  readonly offer: OfferedRepository;
}

const MAX_NAME_LENGTH = 200;
/** How long printed events wait for others, so that they travel together. */
const FLUSH_MS = 200;
const MAX_PART_LENGTH = 32 * 1024;
const MAX_LINE_LENGTH = 16 * 1024;
/** What the coordinator gets again with the result, in case parts were lost. */
const MAX_RETURNED_LENGTH = 1024 * 1024;
/** What is sent of one attempt as it happens. */
const MAX_PRINTED_LENGTH = 16 * 1024 * 1024;

/**
 * Runs agents on a worker, each in a worktree of a clone that its own configuration names. Agents, programs, trust, denied
 * paths and limits are those of that configuration; what the coordinator asks can only restrict them further.
 */
export class AgentHost {
  private readonly worktrees: AgentWorktrees;

  private constructor(
    private readonly options: HostOptions,
    private readonly agents: ReadonlyMap<string, ChosenAgent>,
    private readonly clones: ReadonlyMap<string, OwnClone>,
    private readonly launcher: Launcher,
  ) {
    this.worktrees = new AgentWorktrees(options.config);
  }

  /** Finds agents and clones, and removes what a killed worker has left there. */
  static async open(options: HostOptions): Promise<AgentHost> {
    const { config, env, notify } = options;
    const clones = new Map<string, OwnClone>();
    for (const folder of config.cluster.repositories) {
      try {
        const { git } = await Repository.find(folder);
        const id = await repositoryId(git);
        const root = realpathSync(git.folder);
        clones.set(id, { root, git, offer: { id, name: basename(root), tips: await tipsOf(git) } });
      } catch (error) {
        notify(`No agents work in ${folder}: ${reasonText(error)}`);
      }
    }
    const agents = agentsHere(config, env, notify);
    const host = new AgentHost(options, agents, clones, createLauncher());
    for (const { root } of clones.values()) await host.worktrees.clean(root);
    host.launcher.prepare();
    return host;
  }

  get offer(): OfferedAgents {
    return {
      names: [...this.agents.keys()],
      repositories: Array.from(this.clones.values(), ({ offer }) => offer),
    };
  }

  get tool(): Tool {
    return runAgentTool((input, context) => this.run(input, context));
  }

  close(): Promise<void> {
    return this.launcher.close();
  }

  private async run(input: RunAgentInput, context: WorkerContext): Promise<RunAgentOutput> {
    const { config, redact } = this.options;
    const agent = this.agents.get(input.agent);
    const clone = this.clones.get(input.repository);
    if (agent === undefined || clone === undefined)
      throw new VolleyError(
        'AGENT_NOT_ALLOWED',
        agent === undefined
          ? `This worker does not run the agent ${input.agent}.`
          : 'This worker has no clone of the repository.',
      );
    // Its folder may have been changed since the worker started.
    requireUnchanged(config.trust);
    const timeoutMs = Math.min(input.timeoutMs, config.tasks.timeoutMs);
    const limit = new AbortController();
    const late = new ToolFailure(`The attempt took longer than ${spanText(timeoutMs)} and was terminated.`, {
      reason: 'timeout',
    });
    const timer = setTimeout(() => limit.abort(late), timeoutMs);
    const signal = AbortSignal.any([context.signal, limit.signal]);
    const printed = new Printed(context.log, redact);
    try {
      return await this.work(input, { agent, clone, printed, signal, folder: context.folder });
    } finally {
      clearTimeout(timer);
      printed.close();
    }
  }

  private async work(input: RunAgentInput, attempt: HostedAttempt): Promise<RunAgentOutput> {
    const { config, env, redact } = this.options;
    const { agent, clone, printed, signal, folder } = attempt;
    const { feature, seq, commit, prefix } = input;
    const base = async () => {
      if (!input.isBundled) return commit;
      const sent = await readBundle(clone.git, join(folder, SENT_BUNDLE));
      if (sent !== commit) throw refused('the bundle has another commit');
      return sent;
    };
    const project = join(folder, SENT_PROJECT);
    await mkdir(join(folder, RETURNED), { recursive: true, mode: 0o700 });
    const inner = posix.normalize(`${prefix}.`);
    if (inner === '..' || inner.startsWith('../') || inner.startsWith('/'))
      throw refused('its path leads out');
    const place = join(clone.root, inner);
    const worktree = await this.worktrees.open(place, [], `${feature}-${seq}`, signal, base);
    const scratch = await makeTemporaryFolder();
    try {
      if (!isInside(realpathSync(worktree.folder), realpathSync(worktree.root)))
        throw refused('its path leads out');
      const { setup } = config.tasks;
      if (setup !== undefined)
        await runSetup(setup, { project, feature, seq, launcher: this.launcher }, worktree.folder, signal);
      // What the setup command makes is no work.
      const tracker = new ChangeTracker(worktree.root, () => false, false);
      const start = await tracker.inspect();
      const log: AgentLog = { usage: {}, lastText: undefined, result: undefined };
      let request: AgentRequest | undefined;
      const { stallMs, budget, allowedCommands } = config.tasks;
      const ending = await runAttemptAgent(
        {
          ...{ feature, seq, agent, claim: input.claim },
          usedBefore: input.usedBefore as AgentUsage,
          prompt: input.prompt.replaceAll(input.projectMark, () => project),
          deniedPaths: [...new Set([...input.deniedPaths, ...worktree.deniedPaths])],
          allowedCommands: commandsAllowedByBoth(input.allowedCommands, allowedCommands),
          stallMs: Math.min(input.stallMs, stallMs),
          budget: smallerBudget(input.budget, budget),
        },
        {
          ...{ launcher: this.launcher, scratch, project, folder: worktree.folder, signal },
          env: await agentEnvironment(env, scratch),
          onEvent: (event) => printed.add(event),
          handle: async (asked) => {
            request = asked;
            return {
              data: { feature, noted: true },
              text: 'Noted. The work is checked when you have finished, on the machine that runs the feature.',
            };
          },
        },
        log,
      ).then(
        (exit) => ({ exit: { ...exit, errors: redact(exit.errors) } }),
        (error: unknown) => ({ failure: endedFor(error) }),
      );
      signal.throwIfAborted();
      const own = new Set(await tracker.changes(start, await tracker.inspect()));
      const violation = await worktree.problem(own).catch(violationText);
      const saved = violation === undefined ? await worktree.save(`${feature} ${seq}`) : undefined;
      const made = saved?.commit;
      if (made !== undefined) await writeBundle(clone.git, join(folder, RETURNED_BUNDLE), made, [commit]);
      await printed.write(join(folder, RETURNED_EVENTS));
      return {
        ...(made !== undefined && { commit: made }),
        ...(violation === undefined ? ending : { failure: { reason: 'error' as const, message: violation } }),
        log: reported(log, redact),
        ...(request !== undefined && { request: { ...request } }),
        warnings: (saved?.warnings ?? []).slice(0, 100),
      };
    } finally {
      await worktree.close(false);
      await rm(scratch, { recursive: true, force: true });
    }
  }
}

interface HostedAttempt {
  readonly agent: ChosenAgent;
  readonly clone: OwnClone;
  readonly printed: Printed;
  readonly signal: AbortSignal;
  /** The folder of the call. */
  readonly folder: string;
}

/** The agents that the configuration names and whose programs are here. */
function agentsHere(
  { tasks, folder }: VolleyConfig,
  env: HostOptions['env'],
  notify: HostOptions['notify'],
): Map<string, ChosenAgent> {
  const { agent, allowedAgents, agents } = tasks;
  const names = [...(agent === undefined ? [] : [agent]), ...allowedAgents, ...Object.keys(agents)];
  const found = new Map<string, ChosenAgent>();
  for (const name of new Set(names)) {
    // A list of agents is resolved by the coordinator.
    const chosen = agents[name]?.agents === undefined ? agentOf(name, tasks) : undefined;
    if (chosen === undefined || name.length > MAX_NAME_LENGTH) continue;
    const PATH = chosen.env['PATH'] ?? env['PATH'];
    const problem = startProblem({
      argv: [chosen.starts],
      cwd: folder,
      env: PATH === undefined ? {} : { PATH },
    });
    if (problem === undefined) found.set(name, chosen);
    else
      notify(`The agent ${name} is not offered: cannot run ${JSON.stringify(chosen.starts)} (${problem}).`);
  }
  return found;
}

/** Why an agent was terminated, if its work may count in spite of it. */
function endedFor(error: unknown): NonNullable<RunAgentOutput['failure']> {
  if (isToolFailure(error) && (error.reason === 'stalled' || error.reason === 'budget'))
    return { reason: error.reason, message: error.message };
  throw error;
}

/** What an agent did that it may not do, in words. */
function violationText(error: unknown): string {
  if (isToolFailure(error)) return error.message;
  throw error;
}

/** The commands that both lists allow. A command also allows what begins with it. */
function commandsAllowedByBoth(
  one: readonly string[] | undefined,
  other: readonly string[] | undefined,
): readonly string[] | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const within = (some: readonly string[], all: readonly string[]) =>
    some.filter((command) => all.some((each) => command === each || command.startsWith(`${each} `)));
  return [...new Set([...within(one, other), ...within(other, one)])];
}

function reported(
  { usage, lastText, result }: AgentLog,
  redact: HostOptions['redact'],
): RunAgentOutput['log'] {
  return {
    usage: { ...usage },
    ...(lastText !== undefined && { lastText: redact(lastText) }),
    ...(result !== undefined && { result: { ...result, text: redact(result.text) } }),
  };
}

/** Sends what an agent prints to the coordinator as it comes, in parts, and keeps the beginning for the result. */
class Printed {
  private readonly kept: string[] = [];
  private keptLength = 0;
  private isFull = false;
  private sentLength = 0;
  private from = 0;
  private part: string[] = [];
  private partLength = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly send: (text: string) => void,
    private readonly redact: (text: string) => string,
  ) {}

  add(event: PrintedEvent): void {
    const shown = (value: unknown) =>
      typeof value === 'string'
        ? this.redact(value.slice(0, 2 * MAX_LINE_LENGTH)).slice(0, MAX_LINE_LENGTH)
        : value;
    const fields = Object.entries(event).map(([key, value]) => [key, key === 'type' ? value : shown(value)]);
    const text = JSON.stringify(Object.fromEntries(fields));
    this.sentLength += text.length;
    if (this.sentLength > MAX_PRINTED_LENGTH) return;
    // Only a beginning without gaps is of use.
    this.isFull ||= this.keptLength + text.length > MAX_RETURNED_LENGTH;
    if (!this.isFull) {
      this.kept.push(text);
      this.keptLength += text.length;
    }
    this.part.push(text);
    this.partLength += text.length;
    if (this.partLength > MAX_PART_LENGTH) this.flush();
    else this.timer ??= setTimeout(() => this.flush(), FLUSH_MS);
  }

  async write(file: string): Promise<void> {
    this.flush();
    await writeFile(file, this.kept.join('\n'));
  }

  close(): void {
    clearTimeout(this.timer);
  }

  private flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.part.length === 0) return;
    this.send(`{"from":${this.from},"events":[${this.part.join(',')}]}`);
    this.from += this.part.length;
    this.part = [];
    this.partLength = 0;
  }
}

function refused(why: string): VolleyError {
  return new VolleyError('AGENT_WORK_REFUSED', `The attempt cannot be run here: ${why}.`);
}
