import { z } from 'zod';
import { BATCH } from '../input/fields.ts';
import { statusOf } from '../status.ts';
import { defineAction } from './define-action.ts';

export const statusAction = defineAction({
  name: 'status',
  order: 80,
  summary: 'Show progress: counts, rate, time left, what runs, what failed, what waits and why',
  scope: 'read',
  hints: { readOnly: true, askHolder: true },
  schema: z.strictObject({
    batch: BATCH,
    detailed: z.boolean().default(false).describe('Show more of what runs, failed and waits.'),
  }),
  cli: {
    group: 'look',
    summary: 'Show the progress of a batch, its running tasks, and why others wait',
    examples: ['volley status', 'volley status --batch audit --detailed'],
  },
  run: async ({ batch, detailed }, context) => statusOf(context, batch, detailed),
});
