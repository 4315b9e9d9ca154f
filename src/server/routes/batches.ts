import { createRoute, z } from '@hono/zod-openapi';
import { MAX_TASKS } from '../../batch/actions/add-batch.ts';
import type { startAction } from '../../batch/actions/start.ts';
import { unknownBatch } from '../../batch/context.ts';
import { BATCH } from '../../batch/input/fields.ts';
import { TASK_FIELDS } from '../../batch/input/task-input.ts';
import type { ServerParts } from '../parts.ts';
import { batchBody } from '../views/batch-body.ts';
import { BATCH_VIEW } from '../wire/batch.ts';
import { NEXT_CURSOR } from '../wire/kinds.ts';
import { START } from './actions.ts';
import {
  type Api,
  answers,
  BATCH_PATH,
  integerIn,
  LIMIT,
  REFUSALS,
  requestOf,
  secured,
  takes,
} from './api.ts';
import { IDEMPOTENCY_HEADER, idempotent } from './idempotent.ts';

/** Of `start`, but for the batch. */
type StartArgs = Omit<z.output<typeof startAction.schema>, 'batch'>;

const TAGS = ['batches'];
const DEFAULT_LIMIT = 50;

const PAGE = z.object({ limit: LIMIT, cursor: integerIn(1, Number.MAX_SAFE_INTEGER).optional() });

/** Made here: only a schema that is made after Hono extended zod can have a name in the description. */
const NEW_TASK = z.strictObject(TASK_FIELDS).openapi('NewTask');
const TASKS = z.array(NEW_TASK).min(1).max(MAX_TASKS);
const NEW_TASKS = z.strictObject({ tasks: TASKS }).openapi('NewTasks');

const NEW_BATCH = z
  .strictObject({ batch: BATCH, tasks: TASKS, start: START.optional().describe('Starts it at once, too.') })
  .openapi('NewBatch');

/** Reads batches and adds to them. */
export function batchRoutes(api: Api, parts: ServerParts): void {
  const { executor, store, texts } = parts;

  const bodyOf = async (batch: string) => {
    const view = await executor.view(batch);
    if (view === undefined) throw await unknownBatch(store, batch);
    return batchBody(view);
  };

  api.openapi(
    createRoute({
      ...secured('read'),
      operationId: 'listBatches',
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
      operationId: 'createBatch',
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
      await executor.perform('add_batch', { batch, tasks });
      // One that runs takes them by itself.
      if (start !== undefined && (await executor.view(batch))?.state === 'idle')
        await executor.perform('start', { batch, ...(start as StartArgs) });
      texts.clear();
      context.header('Location', `/v1/batches/${encodeURIComponent(batch)}`);
      return context.json(await bodyOf(batch), 201);
    },
  );

  api.openapi(
    createRoute({
      ...secured('read'),
      operationId: 'getBatch',
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
      operationId: 'addTasks',
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
      const { data } = await executor.perform('add_batch', { batch, tasks });
      texts.clear();
      return context.json({ ids: data['ids'] as string[], batch: await bodyOf(batch) }, 201);
    },
  );
}
