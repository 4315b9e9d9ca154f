import { z } from '@hono/zod-openapi';
import { BATCH, IDS, SECONDS, STATUS_FILTER, TASK_FIELDS } from '../../batch/input/fields.ts';

const MAX_TASKS = 100_000;
const MAX_CONCURRENT = 10_000;

/** Made here, for only what is made behind the extension of zod can be given a name for the description. */
const NEW_TASK = z.strictObject(TASK_FIELDS).openapi('NewTask');

const TASKS = z.array(NEW_TASK).min(1).max(MAX_TASKS);

/** How a batch is run. */
export const START = z
  .strictObject({
    max_concurrent: z
      .union([z.int().min(1).max(MAX_CONCURRENT), z.literal('auto')])
      .optional()
      .describe('How many tasks may run at once. "auto" (the default) chooses by the kind of work.'),
    timeout: SECONDS.optional().describe('Seconds for the whole batch.'),
    fail_fast: z.boolean().optional().describe('Whether the first failure cancels the rest.'),
  })
  .openapi('Start');

export const NEW_BATCH = z
  .strictObject({
    batch: BATCH,
    tasks: TASKS,
    start: START.optional().describe('Starts it at once, too.'),
  })
  .openapi('NewBatch');

export const NEW_TASKS = z.strictObject({ tasks: TASKS }).openapi('NewTasks');

export const STOP = z.strictObject({
  graceful: z.boolean().optional().describe('Whether what runs may finish. Default true.'),
});

export const CHOSEN_IDS = z.strictObject({ ids: IDS });

export const CLEAR = z.strictObject({ status: STATUS_FILTER.optional() });

/** What the batch executor answers, whatever it was asked. */
export const BATCH_ANSWER = z
  .object({
    ok: z.boolean(),
    action: z.string(),
    text: z.string().describe('A few lines for people and models.'),
    data: z.record(z.string(), z.unknown()),
    error: z.object({ code: z.string(), message: z.string() }).optional(),
  })
  .openapi('BatchAnswer');

/** A number in an address. Not for each server anew: what it is described with is kept for ever. */
export function numberIn(min: number, max: number) {
  return z
    .string()
    .regex(/^\d{1,15}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.int().min(min).max(max))
    .openapi({ type: 'integer', minimum: min, maximum: max });
}

export const LIMIT = numberIn(1, 1000).optional();
