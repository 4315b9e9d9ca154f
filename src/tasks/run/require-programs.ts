import { isAbsolute } from 'node:path';
import { VolleyError } from '../../core/errors.ts';
import { listText } from '../../core/words.ts';
import { startProblem } from '../../runners/process/shell-limits.ts';
import type { ChosenAgent } from './choose-agents.ts';
import type { RunTerms } from './request.ts';

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
