import { z } from 'zod';

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
