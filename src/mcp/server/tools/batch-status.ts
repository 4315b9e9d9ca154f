import { z } from 'zod';
import { checkInput } from '../../../batch/input/check.ts';
import type { McpTool } from '../tool.ts';
import { untilEnded } from '../until-ended.ts';
import { ask } from './ask.ts';
import { BATCH_NAME, COUNTS, WAIT_SECONDS } from './inputs.ts';

const INPUT = z.strictObject({
  batch: BATCH_NAME.optional().describe('The name of the batch. Default: all batches are listed.'),
  detailed: z.boolean().default(false).describe('More of what runs, failed and waits.'),
  wait: WAIT_SECONDS.default(0).describe('Seconds to wait for the end of the batch before answering.'),
});

const OUTPUT = z.looseObject({
  batch: z.string().optional(),
  state: z.string().optional().describe('idle: it does not run, or has ended; running, stopping, elsewhere.'),
  counts: COUNTS.optional().describe('How many tasks have each status.'),
  percent: z.number().optional(),
  batches: z.array(z.looseObject({})).optional().describe('Without "batch": all of them.'),
});

export const batchStatusTool: McpTool = {
  name: 'batch_status',
  title: 'How far a batch is',
  description: `Tells how far a batch is: counts, rate, time left, what runs, what failed last, what waits and why. Without "batch" it lists all batches.

Use it after run_batch answered "running", or after batch_executor_tool started a batch. "wait" answers as soon as the batch has ended, or after so many seconds: use it instead of asking again and again.
Do not use it to read results: that is batch_results.

Example: {"batch": "run-1f3a9c", "wait": 50}`,
  input: INPUT,
  output: OUTPUT,
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  scopeOf: () => 'read',
  run: async (given, call) => {
    const { batch, detailed, wait } = checkInput(INPUT, 'batch_status', given ?? {});
    if (batch === undefined) return ask(call, { action: 'list' });
    if (wait > 0 && (await call.backend.store.batch(batch)) !== undefined) {
      await untilEnded(call, batch, wait);
    }
    return ask(call, { action: 'status', batch, detailed });
  },
};
