import { z } from 'zod';
import type { TaskBudget, TaskSettings } from '../../config/config.ts';
import { VolleyError } from '../../core/errors.ts';
import { shellQuote } from '../../core/shell-quote.ts';
import { projectPathProblem } from '../plan/validate.ts';

/** What somebody asks of a run; what is left out is as the configuration says. */
export interface RunRequest {
  readonly feature: string;
  /** An explicit batch: these, and nothing after them. */
  readonly subtasks?: readonly string[];
  /** The same by the number of a batch of the whole feature, from 1. */
  readonly batch?: number;
  /** The agent for all of them, whatever they suggest. */
  readonly agent?: string;
  /** Whether a person chose the agent: then it may be any that is known. */
  readonly isPersonal?: boolean;
  /** A file with what agents should know of the session. */
  readonly session?: string;
  /** Whether a wave begins only when the one before it is done. */
  readonly waves?: boolean;
  /** Whether what may write to the same files runs one after the other, instead of being refused. */
  readonly serialize?: boolean;
  readonly worktrees?: boolean;
  readonly maxConcurrent?: number;
  readonly maxRetries?: number;
  readonly timeoutMs?: number;
  readonly stallMs?: number;
  readonly budget?: TaskBudget;
}

/** How a run treats each subtask. */
export interface RunTerms {
  readonly maxConcurrent: number;
  readonly maxRetries: number;
  readonly timeoutMs: number;
  readonly stallMs: number;
  readonly budget: TaskBudget;
  readonly worktrees: boolean;
}

export function runTermsOf(request: RunRequest, settings: TaskSettings): RunTerms {
  return {
    maxConcurrent: request.maxConcurrent ?? settings.maxConcurrent,
    maxRetries: request.maxRetries ?? settings.maxRetries,
    timeoutMs: request.timeoutMs ?? settings.timeoutMs,
    stallMs: request.stallMs ?? settings.stallMs,
    budget: { ...settings.budget, ...request.budget },
    worktrees: request.worktrees ?? settings.worktrees,
  };
}

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
    ...value('--timeout', toSeconds(timeoutMs)),
    ...value('--stall', toSeconds(stallMs)),
    ...limit('turns'),
    ...limit('tokens'),
    ...limit('cost'),
  ];
}

function toSeconds(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : ms / 1000;
}

const A_WEEK_SECONDS = 604_800;
const MAX_SUBTASKS = 1000;

const seconds = z.number().positive().max(A_WEEK_SECONDS);

/** What programs and models may ask of a run. People at the command line may ask for more. */
export const RUN_INPUT = z.strictObject({
  subtasks: z
    .array(z.string().min(1).max(200))
    .min(1)
    .max(MAX_SUBTASKS)
    .optional()
    .describe(
      'These at once, such as ["01", "02"], and nothing after them. Default: all that is open, in order.',
    ),
  batch: z.number().int().min(1).max(10_000).optional().describe('The same by the number of a batch.'),
  agent: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('For all of them, if volley.toml allows it. Default: whom each suggests.'),
  session: z
    .string()
    .min(1)
    .max(4096)
    .optional()
    .describe('A file of the project with context for all agents.'),
  waves: z.boolean().optional().describe('One wave after another.'),
  serialize: z
    .boolean()
    .optional()
    .describe('One after another what may write the same files, instead of refusing.'),
  worktrees: z.literal(true).optional().describe('Each agent in a git worktree of its own.'),
  max_concurrent: z.number().int().min(1).max(1000).optional().describe('Agents at once.'),
  max_retries: z.number().int().min(0).max(100).optional().describe('Attempts after the first.'),
  timeout: seconds.optional().describe('Seconds for each attempt.'),
  stall: seconds.optional().describe('Seconds without output until it is taken to be stuck.'),
  budget: z
    .strictObject({
      turns: z.number().int().min(1).max(1_000_000).optional(),
      tokens: z.number().int().min(1).max(1e12).optional(),
      cost: z.number().positive().max(1_000_000).optional().describe('US dollars.'),
    })
    .optional()
    .describe('For each subtask; at most what volley.toml has.'),
});

export type RunInput = z.output<typeof RUN_INPUT>;

/** The request of a run, within what the configuration allows. */
export function toRunRequest(feature: string, input: RunInput, { budget }: TaskSettings): RunRequest {
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
  const problem = projectPathProblem(session);
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
