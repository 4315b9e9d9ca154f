import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { VolleyError } from '../../core/errors.ts';
import { DELEGATE_TOOL } from '../../core/script-tools.ts';
import { shellQuote } from '../../core/shell-quote.ts';
import { countText } from '../../core/words.ts';
import type { Recovery } from '../../store/store.ts';
import type { ActionResult } from '../answer.ts';
import { type BatchContext, findBatch } from '../context.ts';
import { isFeatureBatch, refuseFeatureBatch } from '../feature-task.ts';
import { BATCH, SECONDS } from '../input/fields.ts';
import { withReturned } from '../returned.ts';
import { MAX_CONCURRENT } from '../run/auto-concurrency.ts';
import type { BatchRun } from '../run/batch-run.ts';
import { parseBudget } from '../run/spending.ts';
import { endText } from '../status.ts';
import { linesText } from '../text.ts';
import { defineAction } from './define-action.ts';
import { waitAction } from './wait.ts';

export const startAction = defineAction({
  name: 'start',
  order: 30,
  summary: 'Run all open tasks in a batch in parallel',
  scope: 'run',
  hints: {},
  schema: z.strictObject({
    batch: BATCH,
    max_concurrent: z
      .union([z.number().int().min(1).max(MAX_CONCURRENT), z.literal('auto')], {
        error: `must be a whole number from 1 to ${MAX_CONCURRENT} or "auto"`,
      })
      .default('auto')
      .describe('Maximum tasks at once. "auto" (the default) chooses by the kind of work.'),
    timeout: SECONDS.optional().describe(
      'Seconds for the whole batch. Tasks that have not ended by then fail with the reason "deadline".',
    ),
    wait: z
      .union([z.boolean(), SECONDS], { error: 'must be true, false or a number of seconds' })
      .default(false)
      .describe('Answer only when the batch has ended, or after this many seconds.'),
    fail_fast: z.boolean().default(false).describe('Cancel the rest after the first failure.'),
    budget: z
      .string()
      .max(50)
      .refine((text) => parseBudget(text) !== undefined, {
        error: 'must be US dollars such as "5", or tokens such as "200k tokens"',
      })
      .optional()
      .describe(
        'The total budget for models and agents, over all runs of the batch: US dollars such as "5", or "200k tokens". When it is used up, no more calls start, and the rest stay open.',
      ),
    cache: z.boolean().default(true).describe('Whether to use cached results and to cache new ones.'),
    force: z.boolean().default(false).describe('Run all tasks, even if their results are cached.'),
  }),
  http: { method: 'post', path: '/v1/batches/{batch}/start', operationId: 'startBatch' },
  cli: {
    group: 'run',
    examples: [
      'volley start --max-concurrent 5 --timeout 300',
      'volley start --dry-run',
      'volley start --batch audit --detach && volley watch --batch audit',
    ],
    options: {
      timeout: { flags: '--timeout <seconds>' },
      wait: false,
      cache: { flags: '--no-cache', help: 'neither use cached results nor cache new ones' },
    },
  },
  run: async (args, context) => {
    const { batch, max_concurrent, timeout, wait, fail_fast, budget, cache, force } = args;
    await findBatch(context, batch);
    const { store, servers } = context;
    // Registered only while this process runs a feature.
    if (!(await context.coordinator()).hasInternal(DELEGATE_TOOL)) await refuseFeatureBatch(store, batch);
    const staysHere = servers === undefined || (await isFeatureBatch(store, batch));
    const started = staysHere ? undefined : await servers?.start(args);
    if (started !== undefined) return wait === false ? started : ended(context, batch, wait);
    const options = {
      maxConcurrency: max_concurrent,
      timeoutMs: timeout === undefined ? undefined : timeout * 1000,
      failFast: fail_fast,
      budget: budget === undefined ? undefined : parseBudget(budget),
      cache,
      force,
    };
    const { run, recovery } = await context.runs.start(batch, options, staysHere);
    return startedResult(context, run, recovery, wait);
  },
});

/** Continues a batch whose process has died. */
export async function continueBatch(
  context: BatchContext,
  batch: string,
  wait: boolean,
): Promise<ActionResult> {
  const { startedAt, endedAt } = await findBatch(context, batch);
  if (startedAt === undefined || endedAt !== undefined)
    throw new VolleyError(
      'INVALID_REQUEST',
      `The batch ${JSON.stringify(batch)} ${startedAt === undefined ? 'was never started' : 'has ended or was stopped'}, so there is no run to take over. Run its open tasks with volley start --batch ${shellQuote(batch)}.`,
      { batch },
    );
  await refuseFeatureBatch(context.store, batch);
  const { run, recovery } = await context.runs.takeOver(batch);
  return startedResult(context, run, recovery, wait);
}

/** Waits as long as the caller wants, and says how the batch stands. */
async function startedResult(
  context: BatchContext,
  run: BatchRun,
  recovery: Recovery,
  wait: boolean | number,
): Promise<ActionResult> {
  const { batch } = run;
  const recovered = recoveryText(recovery.reopened.length, recovery.crashed.length);
  if (wait === true) await run.done;
  else if (wait !== false) await endOrTime(run.done, wait);
  if (run.hasEnded) {
    await run.done;
    if (run.isAbandoned && wait !== false && (await context.store.servers?.willContinue(batch)))
      return ended(context, batch, wait);
    const stopped = endText(await findBatch(context, batch), run.problem, run.stopReason);
    const end = await withReturned(context.store, batch, stopped);
    return { text: linesText(recovered, end.text), data: { ...end.data, ...counted(recovery) } };
  }
  const { counts } = await findBatch(context, batch);
  const { left } = run;
  return {
    text: linesText(
      recovered,
      `The batch "${batch}" is running: ${countText(left, 'task')}, at most ${run.maxConcurrency} at once. Check it with "status", or "wait" for it to end.`,
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
}

/** Waits for a batch that other processes run, one after the other if they die. */
function ended(context: BatchContext, batch: string, wait: true | number): Promise<ActionResult> {
  return waitAction.run({ batch, timeout: wait === true ? undefined : wait }, context);
}

async function endOrTime(end: Promise<unknown>, seconds: number): Promise<void> {
  const over = new AbortController();
  const late = sleep(seconds * 1000, undefined, { signal: over.signal }).catch(() => {});
  await Promise.race([end, late]);
  over.abort();
}

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
  const again = reopened === 0 ? '' : ` ${countText(reopened, 'task')} will run again.`;
  const failed =
    crashed === 0
      ? ''
      : ` ${countText(crashed, 'task')} may be partly done and failed with reason "crashed": check before you retry.`;
  return `The process that ran this batch died.${again}${failed}`;
}
