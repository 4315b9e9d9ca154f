import { isAbsolute } from 'node:path';
import { ADAPTER_NAMES } from '../../agents/adapters.ts';
import { agentOf, type ChosenAgent } from '../../agents/find-agent.ts';
import type { TaskSettings } from '../../config/config.ts';
import type { EnvironmentVariables } from '../../config/environment.ts';
import { VolleyError } from '../../core/errors.ts';
import { nearest } from '../../core/nearest.ts';
import { countText, listText } from '../../core/words.ts';
import { startProblem } from '../../runners/process/shell-limits.ts';
import type { Subtask } from '../files/feature.ts';

interface AgentChoice {
  /** Used for all subtasks, whatever they suggest. */
  readonly agent?: string | undefined;
  /** A person at the command line may choose any known agent. */
  readonly isPersonal?: boolean | undefined;
}

interface StartConditions {
  readonly project: string;
  readonly env: EnvironmentVariables;
  readonly worktrees: boolean;
}

const MAX_PROBLEMS = 5;
const MAX_NAMED = 10;

/** The agents of each subtask by sequence number: one for each attempt, the last one for all later ones. */
export type AgentPlan = ReadonlyMap<string, readonly ChosenAgent[]>;

/** Chooses the agents for each subtask. Reports all problems in one error. */
export function chooseAgents(
  subtasks: readonly Subtask[],
  choice: AgentChoice,
  settings: TaskSettings,
): AgentPlan {
  const chosen = new Map<string, readonly ChosenAgent[]>();
  const problems: string[] = [];
  const asked = choice.agent?.split(',').map((name) => name.trim());
  const isFree = choice.isPersonal === true && asked !== undefined;
  for (const { seq, suggestedAgent } of subtasks) {
    const names = asked ?? [suggestedAgent ?? settings.agent].filter((name) => name !== undefined);
    if (names.length === 0) {
      problems.push(`subtask ${seq} suggests no agent`);
      continue;
    }
    const agents = names.flatMap((name) => {
      const found = isFree || isAllowed(name, settings) ? agentsOf(name, settings) : undefined;
      if (found !== undefined) return found;
      const subject = asked === undefined ? `agent "${name}" of subtask ${seq}` : `agent "${name}"`;
      problems.push(`${subject} ${whyNot(name, settings)}`);
      return [];
    });
    chosen.set(seq, agents);
  }
  if (problems.length > 0) throw notAllowed([...new Set(problems)], problems.length);
  return chosen;
}

/** One agent, or those that a table lists. Lists are not nested. */
function agentsOf(name: string, settings: TaskSettings): readonly ChosenAgent[] | undefined {
  const listed = Object.hasOwn(settings.agents, name) ? settings.agents[name]!.agents : undefined;
  if (listed === undefined) {
    const agent = agentOf(name, settings);
    return agent && [agent];
  }
  const found = listed.map((one) => agentOf(one, settings));
  return found.every((one) => one !== undefined) ? found : undefined;
}

/** Only agents that the configuration names are allowed. */
function isAllowed(name: string, { agent, allowedAgents, agents }: TaskSettings): boolean {
  return name === agent || allowedAgents.includes(name) || Object.hasOwn(agents, name);
}

function whyNot(name: string, settings: TaskSettings): string {
  const listed = settings.agents[name]?.agents;
  if (listed !== undefined) return `lists an agent without a known adapter or command (${listText(listed)})`;
  if (isAllowed(name, settings)) return 'has neither a known adapter nor a command';
  if (ADAPTER_NAMES.includes(name)) return 'is not allowed';
  const close = nearest(name, [...Object.keys(settings.agents), ...ADAPTER_NAMES]);
  return `is unknown${close === undefined ? '' : ` (did you mean ${close}?)`}`;
}

function notAllowed(problems: readonly string[], count: number): VolleyError {
  const adapters = ADAPTER_NAMES.filter((name) => name !== 'command').join(', ');
  const message = `Nothing was started: ${countText(count, 'subtask')} cannot be delegated (${problems.slice(0, MAX_PROBLEMS).join('; ')}). Configure the agent in [tasks.agents.NAME] of volley.toml, or choose one for all subtasks with --agent (${adapters}).`;
  return new VolleyError('AGENT_NOT_ALLOWED', message, { problems });
}

/** Checks that all agents can be started, before subtasks are claimed and worktrees made. */
export function requirePrograms(agents: AgentPlan, conditions: StartConditions): void {
  const byName = new Map([...agents.values()].flat().map((agent) => [agent.name, agent]));
  for (const { name, starts, env: own } of byName.values()) {
    if (isKnownLater(starts, conditions.worktrees)) continue;
    const PATH = own['PATH'] ?? conditions.env['PATH'];
    const env = PATH === undefined ? {} : { PATH };
    const problem = startProblem({ argv: [starts], cwd: conditions.project, env });
    if (problem === undefined) continue;
    const seqs = [...agents].filter(([, all]) => all.some((one) => one.name === name)).map(([seq]) => seq);
    const whose = `${seqs.length === 1 ? 'subtask' : 'subtasks'} ${listText(seqs.slice(0, MAX_NAMED), seqs.length)}`;
    const message = `Nothing was started: cannot run ${JSON.stringify(starts)}, the program of agent ${name} for ${whose} (${problem}). Install it, or set another with command = [...] in [tasks.agents.${name}] of volley.toml.`;
    throw new VolleyError('AGENT_NOT_INSTALLED', message, { agent: name, program: starts, subtasks: seqs });
  }
}

/** A worktree's setup may create the program, and `volley` itself is always available. */
function isKnownLater(program: string, worktrees: boolean): boolean {
  return program === 'volley' || (worktrees && program.includes('/') && !isAbsolute(program));
}
