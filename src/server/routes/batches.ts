import { createRoute, z } from '@hono/zod-openapi';
import { unknownBatch } from '../../batch/context.ts';
import type { ServerParts } from '../parts.ts';
import { batchBody } from '../views/batch-body.ts';
import { BATCH_VIEW } from '../wire/batch.ts';
import { NEXT_CURSOR } from '../wire/kinds.ts';
import { LIMIT, NEW_BATCH, NEW_TASKS, numberIn } from '../wire/requests.ts';
import { type Api, answers, BATCH_PATH, REFUSALS, requestOf, secured, takes } from './api.ts';
import { ask } from './ask.ts';
import { IDEMPOTENCY_HEADER, idempotent } from './idempotent.ts';

const TAGS = ['batches'];
const DEFAULT_LIMIT = 50;

const PAGE = z.object({ limit: LIMIT, cursor: numberIn(1, Number.MAX_SAFE_INTEGER).optional() });

/** Reads batches and adds to them. */
export function batchRoutes(api: Api, parts: ServerParts): void {
  const { executor, store } = parts;

  const bodyOf = async (batch: string) => {
    const view = await executor.view(batch);
    if (view === undefined) throw await unknownBatch(store, batch);
    return batchBody(view);
  };

  api.openapi(
    createRoute({
      ...secured('read'),
      method: 'get',
      path: '/v1/batches',
      tags: TAGS,
      summary: 'All batches, the newest first',
      request: { query: PAGE },
      responses: {
        200: answers(z.object({ batches: z.array(BATCH_VIEW), next_cursor: NEXT_CURSOR }), 'A page.'),
        ...REFUSALS,
      },
    }),
    async (context) => {
      const { limit = DEFAULT_LIMIT, cursor } = context.req.valid('query');
      const found = await executor.views(cursor, limit + 1);
      const page = found.slice(0, limit);
      const next = found.length > limit ? String(page.at(-1)!.number) : null;
      return context.json({ batches: page.map(batchBody), next_cursor: next }, 200);
    },
  );

  api.openapi(
    createRoute({
      ...secured('run', idempotent(parts)),
      method: 'post',
      path: '/v1/batches',
      tags: TAGS,
      summary: 'Makes a batch, or adds to it, and starts it if told so',
      description: 'All of the tasks are added or none.',
      request: { body: takes(NEW_BATCH) },
      parameters: [IDEMPOTENCY_HEADER],
      responses: { 201: answers(BATCH_VIEW, 'How it stands.'), ...REFUSALS },
    }),
    async (context) => {
      const { batch, tasks, start } = context.req.valid('json');
      requestOf(context).subject = `add ${tasks.length} to ${batch}`;
      await ask(parts, { action: 'add_batch', batch, tasks });
      // One that runs takes them by itself.
      if (start !== undefined && (await executor.view(batch))?.state === 'idle')
        await ask(parts, { action: 'start', batch, ...start });
      context.header('Location', `/v1/batches/${encodeURIComponent(batch)}`);
      return context.json(await bodyOf(batch), 201);
    },
  );

  api.openapi(
    createRoute({
      ...secured('read'),
      method: 'get',
      path: '/v1/batches/{batch}',
      tags: TAGS,
      summary: 'How a batch stands',
      request: { params: BATCH_PATH },
      responses: { 200: answers(BATCH_VIEW, 'The batch.'), ...REFUSALS },
    }),
    async (context) => context.json(await bodyOf(context.req.valid('param').batch), 200),
  );

  api.openapi(
    createRoute({
      ...secured('run', idempotent(parts)),
      method: 'post',
      path: '/v1/batches/{batch}/tasks',
      tags: TAGS,
      summary: 'Adds tasks to a batch; one that runs takes them at once',
      request: { params: BATCH_PATH, body: takes(NEW_TASKS) },
      parameters: [IDEMPOTENCY_HEADER],
      responses: {
        201: answers(
          z.object({ ids: z.array(z.string()).describe('The first 100.'), batch: BATCH_VIEW }),
          'Their ids, and how the batch stands.',
        ),
        ...REFUSALS,
      },
    }),
    async (context) => {
      const { batch } = context.req.valid('param');
      const { tasks } = context.req.valid('json');
      requestOf(context).subject = `add ${tasks.length} to ${batch}`;
      const { data } = await ask(parts, { action: 'add_batch', batch, tasks });
      return context.json({ ids: data['ids'] as string[], batch: await bodyOf(batch) }, 201);
    },
  );
}
