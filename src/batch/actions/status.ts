import { z } from 'zod';
import { BATCH } from '../input/fields.ts';
import { statusOf } from '../status.ts';
import { defineAction } from './define-action.ts';

export const statusAction = defineAction({
  name: 'status',
  order: 80,
  summary: 'Show progress: counts, rate, time left, running, failed and waiting tasks, and why they wait',
  scope: 'read',
  hints: { readOnly: true, askHolder: true },
  schema: z.strictObject({
    batch: BATCH,
    detailed: z.boolean().default(false).describe('Show more of the running, failed and waiting tasks.'),
  }),
  cli: {
    group: 'look',
    summary: 'Show the progress of a batch, its running tasks, and why others wait',
    examples: ['volley status', 'volley status --batch audit --detailed'],
  },
  run: async ({ batch, detailed }, context) => statusOf(context, batch, detailed),
});
