import { createRoute, z } from '@hono/zod-openapi';
import { findBatch } from '../../batch/context.ts';
import type { ServerParts } from '../parts.ts';
import { ATTEMPT } from '../wire/execution.ts';
import { NEXT_CURSOR } from '../wire/kinds.ts';
import { numberIn } from '../wire/requests.ts';
import { type Api, answers, BATCH_PATH, REFUSALS, secured } from './api.ts';

const DEFAULT_LIMIT = 1000;
const MOST = 5000;

const BRIEF_ATTEMPT = ATTEMPT.pick({
  attempt: true,
  started_at: true,
  ended_at: true,
  duration_ms: true,
  outcome: true,
})
  .extend({ id: z.string().describe('Of the execution.') })
  .openapi('BriefAttempt');

const QUERY = z.object({
  limit: numberIn(1, MOST).optional().describe('Executions on a page.'),
  cursor: numberIn(0, 2 ** 30 - 1).optional(),
});

/** All attempts of a batch, for a timeline. */
export function attemptRoute(api: Api, { store }: ServerParts): void {
  api.openapi(
    createRoute({
      ...secured('read'),
      method: 'get',
      path: '/v1/batches/{batch}/attempts',
      tags: ['batches'],
      summary: 'When attempts ran, execution by execution',
      request: { params: BATCH_PATH, query: QUERY },
      responses: {
        200: answers(z.object({ attempts: z.array(BRIEF_ATTEMPT), next_cursor: NEXT_CURSOR }), 'A page.'),
        ...REFUSALS,
      },
    }),
    async (context) => {
      const { batch } = context.req.valid('param');
      const { limit = DEFAULT_LIMIT, cursor: afterSeq = 0 } = context.req.valid('query');
      await findBatch({ store }, batch);
      const { attempts, lastSeq } = await store.attempts(batch, { afterSeq, limit });
      const brief = attempts.map(({ id, attempt, startedAt, endedAt, durationMs, outcome }) => ({
        id,
        attempt,
        started_at: startedAt,
        ended_at: endedAt ?? null,
        duration_ms: durationMs ?? null,
        outcome,
      }));
      return context.json(
        { attempts: brief, next_cursor: lastSeq === undefined ? null : String(lastSeq) },
        200,
      );
    },
  );
}
