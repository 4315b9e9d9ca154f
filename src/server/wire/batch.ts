import { z } from '@hono/zod-openapi';
import { hasSucceeded } from '../../batch/counts.ts';
import { spendingFields } from '../../batch/run/spending.ts';
import type { BatchView } from '../../batch/view.ts';
import { TASK_STATUSES } from '../../store/records.ts';
import { TIME } from './kinds.ts';

const COUNT = z.int().min(0);

/** How many tasks stand where. */
export const COUNTS = z
  .object(Object.fromEntries(TASK_STATUSES.map((status) => [status, COUNT])) as StatusCounts)
  .openapi('Counts');

type StatusCounts = Record<(typeof TASK_STATUSES)[number], typeof COUNT>;

/** Who runs a batch. */
const HOLDER = z
  .object({ pid: z.int(), host: z.string(), since: TIME, seen_at: TIME })
  .openapi('Holder', { description: 'The other process that runs the batch.' });

/** How a batch stands at one moment. Costs the same however large it is. */
export const BATCH_VIEW = z
  .object({
    batch: z.string(),
    state: z
      .enum(['idle', 'running', 'stopping', 'elsewhere'])
      .describe('elsewhere: another process runs it; stop, cancel, retry and new tasks are passed on to it.'),
    counts: COUNTS,
    total: COUNT,
    cached: COUNT.describe('How many completed tasks have a result from the cache.'),
    succeeded: z
      .boolean()
      .describe(
        'Whether all tasks have ended and none failed or was cancelled. Failed items of a group that completed anyway do not count.',
      ),
    progress: z
      .number()
      .min(0)
      .max(1)
      .describe(
        'The share of the work that is done: completed tasks and the reported part of running ones, no failures.',
      ),
    rate_per_second: z.number().nullable().describe('Tasks that end per second, over the last ten seconds.'),
    time_left: z
      .object({ low_ms: z.number(), expected_ms: z.number(), high_ms: z.number() })
      .nullable()
      .describe('With a range that is right in four of five cases.'),
    max_concurrent: z.int().nullable(),
    created_at: TIME,
    started_at: TIME.nullable(),
    ended_at: TIME.nullable(),
    holder: HOLDER.nullable(),
    pauses: z
      .array(z.object({ scope: z.string(), until: TIME }))
      .describe('Quotas that are used up, such as `agent:codex`. Tasks that need them wait until then.'),
    spending: z
      .object({
        calls: z.int(),
        input_tokens: z.int(),
        output_tokens: z.int(),
        cost_usd: z.number().nullable().describe('In US dollars, as far as it is known.'),
      })
      .nullable()
      .describe('What its calls of models and agents cost, over all runs.'),
    problem: z.string().nullable().describe('Why its last run here ended early.'),
  })
  .openapi('Batch');

export type BatchBody = z.output<typeof BATCH_VIEW>;

/** A batch as it leaves the server. */
export function batchBody(view: BatchView): BatchBody {
  const { timeLeft, holder } = view;
  return {
    batch: view.name,
    state: view.state,
    counts: view.counts,
    total: view.total,
    cached: view.cached,
    succeeded: hasSucceeded(view),
    progress: view.progress,
    rate_per_second: view.ratePerSecond ?? null,
    time_left:
      timeLeft === undefined
        ? null
        : { low_ms: timeLeft.lowMs, expected_ms: timeLeft.expectedMs, high_ms: timeLeft.highMs },
    max_concurrent: view.maxConcurrency ?? null,
    created_at: view.createdAt,
    started_at: view.startedAt ?? null,
    ended_at: view.endedAt ?? null,
    holder:
      holder === undefined
        ? null
        : { pid: holder.pid, host: holder.host, since: holder.since, seen_at: holder.seenAt },
    pauses: view.pauses.map(({ scope, until }) => ({ scope, until })),
    spending: view.spending === undefined ? null : { cost_usd: null, ...spendingFields(view.spending) },
    problem: view.problem ?? null,
  };
}
