import { createRoute, z } from '@hono/zod-openapi';
import { STATUS_FILTER } from '../../batch/input/fields.ts';
import type { ServerParts } from '../parts.ts';
import { BATCH_ANSWER, LIMIT, numberIn } from '../wire/requests.ts';
import { type Api, answers, BATCH_PATH, REFUSALS, secured } from './api.ts';
import { ask } from './ask.ts';

const QUERY = z.object({
  format: z.enum(['summary', 'detailed', 'json']).optional(),
  status: STATUS_FILTER.optional(),
  limit: LIMIT,
  cursor: numberIn(0, 2 ** 30 - 1).optional(),
});

/** What came of a batch. */
export function resultRoutes(api: Api, parts: ServerParts): void {
  api.openapi(
    createRoute({
      ...secured('read'),
      method: 'get',
      path: '/v1/batches/{batch}/results',
      tags: ['batches'],
      summary: 'What came of the tasks: a summary, or a list in pages',
      request: { params: BATCH_PATH, query: QUERY },
      responses: { 200: answers(BATCH_ANSWER, 'The answer of the batch executor.'), ...REFUSALS },
    }),
    async (context) => {
      const { batch } = context.req.valid('param');
      const { format, status, limit, cursor } = context.req.valid('query');
      const request = { action: 'results', batch, format, filter_status: status, limit, cursor };
      return context.json(await ask(parts, request), 200);
    },
  );
}
