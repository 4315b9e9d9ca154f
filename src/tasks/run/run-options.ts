import type { TaskBudget } from '../../config/config.ts';
import { shellQuote } from '../../core/shell-quote.ts';
import type { RunRequest } from './request.ts';

/** The words of the command line that ask for the same, but for which subtasks. What volley.toml says goes without. */
export function runOptions(
  request: RunRequest,
  { budget: usual }: { readonly budget: TaskBudget },
): string[] {
  const { agent, session, worktrees, maxConcurrent, maxRetries, timeoutMs, stallMs, budget = {} } = request;
  const value = (name: string, given: string | number | undefined) =>
    given === undefined ? [] : [name, shellQuote(String(given))];
  const limit = (key: keyof TaskBudget) =>
    value(`--budget-${key}`, budget[key] === usual[key] ? undefined : budget[key]);
  return [
    ...value('--agent', agent),
    ...value('--session', session),
    ...(request.waves === true ? ['--waves'] : []),
    ...(request.serialize === true ? ['--serialize'] : []),
    ...(worktrees === undefined ? [] : [worktrees ? '--worktrees' : '--no-worktrees']),
    ...value('--max-concurrent', maxConcurrent),
    ...value('--max-retries', maxRetries),
    ...value('--timeout', seconds(timeoutMs)),
    ...value('--stall', seconds(stallMs)),
    ...limit('turns'),
    ...limit('tokens'),
    ...limit('cost'),
  ];
}

function seconds(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : ms / 1000;
}
