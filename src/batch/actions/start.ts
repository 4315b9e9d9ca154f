import { z } from 'zod';
import { countText } from '../../core/words.ts';
import { defineAction, findBatch } from '../context.ts';
import { endText } from '../end-text.ts';
import { BATCH, SECONDS } from '../input/fields.ts';
import { linesText } from '../text.ts';

const MAX_CONCURRENT = 10_000;

export const startAction = defineAction({
  schema: z.strictObject({
    batch: BATCH,
    max_concurrent: z
      .union([z.number().int().min(1).max(MAX_CONCURRENT), z.literal('auto')], {
        error: `must be a whole number from 1 to ${MAX_CONCURRENT} or "auto"`,
      })
      .default('auto')
      .describe('How many tasks may run at once. "auto" (the default) chooses by the kind of work.'),
    timeout: SECONDS.optional().describe(
      'Seconds for the whole batch; what has not finished then fails with the reason "deadline".',
    ),
    wait: z.boolean().default(false).describe('Whether to answer only when the batch has ended.'),
    fail_fast: z.boolean().default(false).describe('Whether the first failure cancels the rest.'),
  }),
  run: async ({ batch, max_concurrent, timeout, wait, fail_fast }, context) => {
    await findBatch(context, batch);
    const { run, recovery } = await context.runs.start(batch, {
      maxConcurrency: max_concurrent,
      timeoutMs: timeout === undefined ? undefined : timeout * 1000,
      failFast: fail_fast,
    });
    const recovered = recoveryText(recovery.reopened.length, recovery.crashed.length);
    if (wait || run.hasEnded) {
      await run.done;
      const end = endText(await findBatch(context, batch), run.problem);
      return { text: linesText(recovered, end.text), data: { ...end.data, ...counted(recovery) } };
    }
    const { counts } = await findBatch(context, batch);
    const left = run.tasks.size;
    return {
      text: linesText(
        recovered,
        `The batch "${batch}" runs: ${countText(left, 'task')}, at most ${run.maxConcurrency} at once. Follow it with "status", or "wait" for its end.`,
      ),
      data: {
        batch,
        state: 'running',
        max_concurrent: run.maxConcurrency,
        submitted: left,
        counts,
        ...counted(recovery),
      },
    };
  },
});

function counted({
  reopened,
  crashed,
}: {
  reopened: readonly unknown[];
  crashed: readonly unknown[];
}): object {
  return { recovered: { reopened: reopened.length, crashed: crashed.length } };
}

function recoveryText(reopened: number, crashed: number): string | undefined {
  if (reopened + crashed === 0) return undefined;
  const again =
    reopened === 0
      ? ''
      : ` ${countText(reopened, 'task')} that it ran ${reopened === 1 ? 'runs' : 'run'} again.`;
  const failed =
    crashed === 0
      ? ''
      : ` ${countText(crashed, 'task')} may have done part of the work and failed with the reason "crashed": look at ${crashed === 1 ? 'it' : 'them'} before you retry.`;
  return `A process died while it ran this batch.${again}${failed}`;
}
