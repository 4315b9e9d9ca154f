import { REAL_AGENTS, type RealAgent } from './real-agents.ts';

/** Those that are installed and run fastest; `VOLLEY_DRILL_AGENTS` names others, separated by commas. */
const USUAL = 'codex,claude';

export const CHOSEN_AGENTS: readonly RealAgent[] = (process.env['VOLLEY_DRILL_AGENTS'] ?? USUAL)
  .split(',')
  .map(known);

function known(wanted: string): RealAgent {
  const agent = REAL_AGENTS.find(({ name }) => name === wanted);
  if (agent !== undefined) return agent;
  throw new Error(`There is no agent "${wanted}": ${REAL_AGENTS.map(({ name }) => name).join(', ')}`);
}
