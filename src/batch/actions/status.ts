import { z } from 'zod';
import { defineAction } from '../context.ts';
import { BATCH } from '../input/fields.ts';
import { statusOf } from '../status-answer.ts';

export const statusAction = defineAction({
  schema: z.strictObject({
    batch: BATCH,
    detailed: z.boolean().default(false).describe('More of what runs, failed and waits.'),
  }),
  run: async ({ batch, detailed }, context) => statusOf(context, batch, detailed),
});
