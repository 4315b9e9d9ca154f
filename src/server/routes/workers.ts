import { createRoute, z } from '@hono/zod-openapi';
import { VolleyError } from '../../core/errors.ts';
import { WORKERS, workerBody } from '../wire/worker.ts';
import { type Api, answers, REFUSALS, secured } from './api.ts';
import type { ServerParts } from './parts.ts';

const NAME = z.string().regex(/^[\w-]{1,64}$/);

/** Routes about the workers of the cluster. */
export function workerRoutes(api: Api, { workers }: ServerParts): void {
  api.openapi(
    createRoute({
      ...secured('read'),
      operationId: 'listWorkers',
      method: 'get',
      path: '/v1/workers',
      tags: ['system'],
      summary: 'Lists the workers on which calls are placed',
      responses: { 200: answers(WORKERS, 'The workers, by name.'), ...REFUSALS },
    }),
    (context) =>
      context.json(
        { configured: workers !== undefined, workers: (workers?.list() ?? []).map(workerBody) },
        200,
      ),
  );

  api.openapi(
    createRoute({
      ...secured('run'),
      operationId: 'drainWorker',
      method: 'post',
      path: '/v1/workers/{name}/drain',
      tags: ['system'],
      summary: 'Asks a worker to finish its calls and leave',
      request: { params: z.object({ name: NAME }) },
      responses: { 200: answers(z.object({ name: NAME }), 'It was asked.'), ...REFUSALS },
    }),
    async (context) => {
      const { name } = context.req.valid('param');
      if (!(await workers?.drain(name)))
        throw new VolleyError('CLUSTER_UNKNOWN_WORKER', `No worker is named ${name}.`, { name });
      return context.json({ name }, 200);
    },
  );
}
