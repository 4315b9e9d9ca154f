import type { TaskBudget, TaskSettings } from '../../config/config.ts';
import { VolleyError } from '../../core/errors.ts';
import type { RunRequest } from '../run/request.ts';
import { problemOf } from '../validate/deliverables.ts';
import type { RunInput } from './run-input.ts';

/** The request of a run, within what the configuration allows. */
export function runRequestOf(feature: string, input: RunInput, { budget }: TaskSettings): RunRequest {
  const { subtasks, batch, agent, session, waves, serialize, worktrees } = input;
  const { max_concurrent: maxConcurrent, max_retries: maxRetries, timeout, stall } = input;
  if (session !== undefined) requireInside(session);
  return {
    feature,
    budget: leastOf(budget, input.budget ?? {}),
    ...(subtasks !== undefined && { subtasks }),
    ...(batch !== undefined && { batch }),
    ...(agent !== undefined && { agent }),
    ...(session !== undefined && { session }),
    ...(waves !== undefined && { waves }),
    ...(serialize !== undefined && { serialize }),
    ...(worktrees !== undefined && { worktrees }),
    ...(maxConcurrent !== undefined && { maxConcurrent }),
    ...(maxRetries !== undefined && { maxRetries }),
    ...(timeout !== undefined && { timeoutMs: timeout * 1000 }),
    ...(stall !== undefined && { stallMs: stall * 1000 }),
  };
}

function requireInside(session: string): void {
  const problem = problemOf(session);
  if (problem === undefined) return;
  throw new VolleyError(
    'INVALID_VALUE',
    `The session ${JSON.stringify(session)} ${problem}: name a file of the project.`,
    {
      session,
    },
  );
}

function leastOf(allowed: TaskBudget, asked: NonNullable<RunInput['budget']>): TaskBudget {
  const least = (key: 'turns' | 'tokens' | 'cost') => {
    const known = [allowed[key], asked[key]].filter((one) => one !== undefined);
    return known.length === 0 ? {} : { [key]: Math.min(...known) };
  };
  return { ...least('turns'), ...least('tokens'), ...least('cost') };
}
