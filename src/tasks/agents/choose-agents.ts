import { isAbsolute } from 'node:path';
import type { AgentSettings, TaskSettings } from '../../config/config.ts';
import { VolleyError } from '../../core/errors.ts';
import { nearest } from '../../core/nearest.ts';
import { countText, listText } from '../../core/words.ts';
import { startProblem } from '../../runners/process/shell-limits.ts';
import type { Subtask } from '../files/feature.ts';
import type { RunRequest, RunTerms } from '../run/run-request.ts';
import type { AgentAdapter } from './adapter.ts';
import { ADAPTER_NAMES, adapterFor, commandAdapter } from './adapters.ts';

/** An agent that a subtask is delegated to. */
export interface ChosenAgent {
  /** As subtasks and the configuration name it. */
  readonly name: string;
  readonly adapter: AgentAdapter;
  readonly model: string | undefined;
  /** What stands instead of the program that the adapter names, if anything does. */
  readonly program: readonly string[] | undefined;
  /** The program that is started in the end: a path, or a name that is looked up. */
  readonly starts: string;
  readonly env: Readonly<Record<string, string>>;
}

const MAX_SHOWN = 5;

/** Who does each subtask, by sequence. All that is wrong with that is in one error, before anything starts. */
export function chooseAgents(
  subtasks: readonly Subtask[],
  request: Pick<RunRequest, 'agent' | 'isPersonal'>,
  settings: TaskSettings,
): Map<string, ChosenAgent> {
  const chosen = new Map<string, ChosenAgent>();
  const problems: string[] = [];
  for (const { seq, suggestedAgent } of subtasks) {
    const name = request.agent ?? suggestedAgent ?? settings.agent;
    if (name === undefined) {
      problems.push(`subtask ${seq} suggests no agent`);
      continue;
    }
    const isFree = request.isPersonal === true && request.agent !== undefined;
    const agent = isFree || isAllowed(name, settings) ? agentOf(name, settings) : undefined;
    if (agent === undefined) {
      const shown = JSON.stringify(name);
      const whose = request.agent === undefined ? `subtask ${seq} is for ${shown}, which` : shown;
      problems.push(`${whose} ${whyNot(name, settings)}`);
    } else chosen.set(seq, agent);
  }
  if (problems.length > 0) throw refusal([...new Set(problems)], problems.length);
  return chosen;
}

/** Nobody is delegated to who is not named somewhere. */
function isAllowed(name: string, { agent, allowedAgents, agents }: TaskSettings): boolean {
  return name === agent || allowedAgents.includes(name) || Object.hasOwn(agents, name);
}

function agentOf(name: string, settings: TaskSettings): ChosenAgent | undefined {
  const own: AgentSettings = Object.hasOwn(settings.agents, name) ? settings.agents[name]! : { env: {} };
  const { command, model, env } = own;
  const kind = own.adapter ?? (command === undefined ? name : 'command');
  const known = adapterFor(kind);
  if (known !== undefined)
    return { name, adapter: known, model, program: command, starts: command?.[0] ?? known.name, env };
  if (kind !== 'command' || command === undefined) return undefined;
  const argv = command as [string, ...string[]];
  return { name, adapter: commandAdapter(argv), model, program: undefined, starts: argv[0], env };
}

function whyNot(name: string, settings: TaskSettings): string {
  if (!isAllowed(name, settings) && !ADAPTER_NAMES.includes(name)) {
    const close = nearest(name, [...Object.keys(settings.agents), ...ADAPTER_NAMES]);
    return `is not known${close === undefined ? '' : ` (did you mean ${close}?)`}`;
  }
  if (!isAllowed(name, settings)) return 'may not be delegated to';
  return 'has no adapter of that name and no command';
}

function refusal(problems: readonly string[], count: number): VolleyError {
  const adapters = ADAPTER_NAMES.filter((name) => name !== 'command').join(', ');
  return new VolleyError(
    'AGENT_NOT_ALLOWED',
    `Nothing was started, for ${countText(count, 'subtask')} cannot be delegated. Describe the agent under [tasks.agents.NAME] of volley.toml, or choose one for all with --agent (${adapters}): ${problems.slice(0, MAX_SHOWN).join('; ')}.`,
    { problems },
  );
}

/** Where agents are started. */
export interface AgentPlace {
  readonly project: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const MAX_NAMED = 10;

/** Whether what the agents are can be started at all: otherwise each would be claimed, and given a worktree, in vain. */
export function requirePrograms(
  agents: ReadonlyMap<string, ChosenAgent>,
  { worktrees }: Pick<RunTerms, 'worktrees'>,
  place: AgentPlace,
): void {
  const byName = new Map([...agents.values()].map((agent) => [agent.name, agent]));
  for (const agent of byName.values()) {
    const problem = isKnownLater(agent.starts, worktrees) ? undefined : problemOf(agent, place);
    if (problem === undefined) continue;
    const { name, starts } = agent;
    const seqs = [...agents].filter(([, one]) => one.name === name).map(([seq]) => seq);
    const whose = `${seqs.length === 1 ? 'subtask' : 'subtasks'} ${listText(seqs.slice(0, MAX_NAMED), seqs.length)}`;
    throw new VolleyError(
      'AGENT_NOT_INSTALLED',
      `Nothing was started, for the program ${JSON.stringify(starts)} of the agent ${name} (${whose}) cannot be run (${problem}). Install it, or name another program: command = [...] under [tasks.agents.${name}] of volley.toml.`,
      { agent: name, program: starts, subtasks: seqs },
    );
  }
}

/** The set-up may make it in a worktree, and `volley` itself is always there. */
function isKnownLater(program: string, worktrees: boolean): boolean {
  return program === 'volley' || (worktrees && program.includes('/') && !isAbsolute(program));
}

function problemOf({ starts, env: own }: ChosenAgent, { project, env }: AgentPlace): string | undefined {
  const PATH = own['PATH'] ?? env['PATH'];
  return startProblem({ argv: [starts], cwd: project, env: PATH === undefined ? {} : { PATH } });
}
