import { z } from 'zod';
import type { TaskBudget, TaskSettings } from '../../config/config.ts';
import { VolleyError } from '../../core/errors.ts';
import { shellQuote } from '../../core/shell-quote.ts';
import { projectPathProblem } from '../plan/deliverables.ts';

/** What a caller asks of a run. The configuration supplies the rest. */
export interface RunRequest {
  readonly feature: string;
  /** Only these subtasks, all at once. */
  readonly subtasks?: readonly string[] | undefined;
  /** Only this batch of the feature, counted from 1. */
  readonly batch?: number | undefined;
  /** The agent for all subtasks, whatever they suggest. */
  readonly agent?: string | undefined;
  /** Whether a person chose the agent, who may choose any known one. */
  readonly isPersonal?: boolean | undefined;
  /** A file with context for all agents. */
  readonly session?: string | undefined;
  /** Whether each wave waits for the previous one. */
  readonly waves?: boolean | undefined;
  /** Whether subtasks that may write the same files run one after another instead of being refused. */
  readonly serialize?: boolean | undefined;
  readonly worktrees?: boolean | undefined;
  /** Whether agents run on the workers of the cluster. */
  readonly workers?: boolean | undefined;
  /** Whether verified work waits for approval. */
  readonly review?: boolean | undefined;
  readonly maxUnreviewed?: number | undefined;
  /** The branch that gets the work, with a commit for each subtask. Default: the one that is checked out. */
  readonly branch?: string | undefined;
  readonly maxConcurrent?: number | undefined;
  readonly maxRetries?: number | undefined;
  readonly timeoutMs?: number | undefined;
  readonly stallMs?: number | undefined;
  readonly budget?: TaskBudget | undefined;
}

/** The limits of a run. */
export interface RunTerms {
  readonly maxConcurrent: number;
  readonly maxRetries: number;
  readonly timeoutMs: number;
  readonly stallMs: number;
  readonly budget: TaskBudget;
  readonly worktrees: boolean;
  /** Whether agents run on the workers of the cluster. */
  readonly workers: boolean;
  readonly review: boolean;
  readonly maxUnreviewed: number;
  readonly branch: string | undefined;
}

export function runTermsOf(request: RunRequest, settings: TaskSettings): RunTerms {
  const review = request.review ?? settings.review;
  const { branch } = request;
  const workers = request.workers ?? settings.workers;
  const needsWorktrees = review || branch !== undefined || workers;
  if (needsWorktrees && request.worktrees === false)
    throw new VolleyError('INVALID_VALUE', 'A review, another branch, or agents on workers need worktrees.');
  return {
    maxConcurrent: request.maxConcurrent ?? settings.maxConcurrent,
    maxRetries: request.maxRetries ?? settings.maxRetries,
    timeoutMs: request.timeoutMs ?? settings.timeoutMs,
    stallMs: request.stallMs ?? settings.stallMs,
    budget: { ...settings.budget, ...request.budget },
    worktrees: needsWorktrees || (request.worktrees ?? settings.worktrees),
    workers,
    review,
    branch,
    maxUnreviewed: request.maxUnreviewed ?? settings.maxUnreviewed,
  };
}

/** The command line options that repeat a request for other subtasks. Settings of volley.toml are left out. */
export function runOptions(request: RunRequest, settings: { readonly budget: TaskBudget }): string[] {
  const { worktrees, review, timeoutMs, stallMs, budget = {} } = request;
  const option = (name: string, value: string | number | undefined) =>
    value === undefined ? [] : [name, shellQuote(String(value))];
  const seconds = (ms: number | undefined) => (ms === undefined ? undefined : ms / 1000);
  const limit = (key: keyof TaskBudget) =>
    option(`--budget-${key}`, budget[key] === settings.budget[key] ? undefined : budget[key]);
  return [
    ...option('--agent', request.agent),
    ...option('--session', request.session),
    ...(request.waves === true ? ['--waves'] : []),
    ...(request.serialize === true ? ['--serialize'] : []),
    ...(worktrees === undefined ? [] : [worktrees ? '--worktrees' : '--no-worktrees']),
    ...(review === undefined ? [] : [review ? '--review' : '--no-review']),
    ...option('--branch', request.branch),
    ...option('--max-unreviewed', request.maxUnreviewed),
    ...option('--max-concurrent', request.maxConcurrent),
    ...option('--max-retries', request.maxRetries),
    ...option('--timeout', seconds(timeoutMs)),
    ...option('--stall', seconds(stallMs)),
    ...limit('turns'),
    ...limit('tokens'),
    ...limit('cost'),
  ];
}

const MAX_RUN_SECONDS = 604_800;
const MAX_SUBTASKS = 1000;

const seconds = z.number().positive().max(MAX_RUN_SECONDS);

/** What programs and models may ask of a run. The command line allows more. */
export const RUN_INPUT = z.strictObject({
  subtasks: z
    .array(z.string().min(1).max(200))
    .min(1)
    .max(MAX_SUBTASKS)
    .optional()
    .describe('Only these subtasks, all at once, such as ["01", "02"]. Default: all open ones, in order.'),
  batch: z.number().int().min(1).max(10_000).optional().describe('Only the batch with this number.'),
  agent: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('The agent for all subtasks, if volley.toml allows it. Default: the one each suggests.'),
  session: z
    .string()
    .min(1)
    .max(4096)
    .optional()
    .describe('A file of the project with context for all agents.'),
  waves: z.boolean().optional().describe('Start a wave only when the previous one is done.'),
  serialize: z
    .boolean()
    .optional()
    .describe('Run subtasks that may write the same files one after another instead of refusing.'),
  worktrees: z.literal(true).optional().describe('Run each agent in its own git worktree.'),
  review: z
    .literal(true)
    .optional()
    .describe('Verified work waits until a person approves it. Turns on worktrees.'),
  max_unreviewed: z
    .number()
    .int()
    .min(1)
    .max(1000)
    .optional()
    .describe('With review: maximum subtasks in work or waiting for review.'),
  max_concurrent: z.number().int().min(1).max(1000).optional().describe('Maximum agents at once.'),
  max_retries: z.number().int().min(0).max(100).optional().describe('Attempts after the first.'),
  timeout: seconds.optional().describe('Seconds per attempt.'),
  stall: seconds.optional().describe('Seconds without output before an agent is considered stuck.'),
  budget: z
    .strictObject({
      turns: z.number().int().min(1).max(1_000_000).optional(),
      tokens: z.number().int().min(1).max(1e12).optional(),
      cost: z.number().positive().max(1_000_000).optional().describe('US dollars.'),
    })
    .optional()
    .describe('Per subtask; volley.toml sets the maximum.'),
});

export type RunInput = z.output<typeof RUN_INPUT>;

/** Converts the input of a program or model, within the limits of the configuration. */
export function toRunRequest(feature: string, input: RunInput, { budget }: TaskSettings): RunRequest {
  const { max_concurrent: maxConcurrent, max_retries: maxRetries, timeout, stall, ...others } = input;
  const { max_unreviewed: maxUnreviewed, ...same } = others;
  const { session } = input;
  const problem = session === undefined ? undefined : projectPathProblem(session);
  if (problem !== undefined) {
    const message = `The session ${JSON.stringify(session)} ${problem}. Name a file of the project.`;
    throw new VolleyError('INVALID_VALUE', message, { session });
  }
  return {
    ...same,
    feature,
    maxUnreviewed,
    maxConcurrent,
    maxRetries,
    timeoutMs: timeout && timeout * 1000,
    stallMs: stall && stall * 1000,
    budget: smallerBudget(budget, input.budget ?? {}),
  };
}

/** The smaller of two limits for each part of a budget. */
export function smallerBudget(allowed: TaskBudget, asked: NonNullable<RunInput['budget']>): TaskBudget {
  const smaller = (key: 'turns' | 'tokens' | 'cost') => {
    const known = [allowed[key], asked[key]].filter((one) => one !== undefined);
    return known.length === 0 ? {} : { [key]: Math.min(...known) };
  };
  return { ...smaller('turns'), ...smaller('tokens'), ...smaller('cost') };
}
