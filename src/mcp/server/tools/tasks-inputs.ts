import { z } from 'zod';
import { MAX_WAIT_SECONDS } from '../limits.ts';

/** Fields that several tools about features have. */

export const FEATURE_NAME = z.string().min(1).max(255).describe('The name of its folder in .tmp/tasks.');

export const FEATURE_WAIT = z.number().min(0).max(MAX_WAIT_SECONDS);

/** What a run came to, or how far it is. */
export const RUN_OUTPUT = z.object({
  feature: z.string(),
  batch: z.string().describe('The batch that the run is, for batch_status and batch_executor_tool.'),
  state: z.enum(['running', 'ended']),
  counts: z
    .record(z.string(), z.number())
    .optional()
    .describe('While it runs: how many subtasks stand where.'),
  report: z.looseObject({}).optional().describe('Of the run, when it has ended.'),
});
