import { createRoute, z } from '@hono/zod-openapi';
import { MAX_TASKS } from '../../batch/actions/add-batch.ts';
import type { startAction } from '../../batch/actions/start.ts';
import { findBatch, unknownBatchError } from '../../batch/context.ts';
import { EXPORT_FORMATS } from '../../batch/export/formats.ts';
import { exportPieces } from '../../batch/export/write-export.ts';
import { BATCH, RETURN, STATUS_FILTER, TASK_FIELDS } from '../../batch/input/fields.ts';
import { BATCH_PHASES } from '../../batch/view.ts';
import { VolleyError } from '../../core/errors.ts';
import { BATCH_VIEW, batchBody } from '../wire/batch.ts';
import { ATTEMPT } from '../wire/execution.ts';
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
import { IDEMPOTENCY_HEADER, idempotent } from './idempotency.ts';
import type { ServerParts } from './parts.ts';

/** The fields of `start`, without the batch. */
type StartArgs = Omit<z.output<typeof startAction.schema>, 'batch'>;

const TAGS = ['batches'];
const DEFAULT_LIMIT = 50;

const BATCHES_QUERY = z.object({
  search: z.string().min(1).max(200).optional().describe('Part of the name.'),
  state: z
    .union([z.enum(BATCH_PHASES), z.array(z.enum(BATCH_PHASES)).min(1)])
    .transform((state) => (Array.isArray(state) ? state : [state]))
    .optional()
    .describe('"unfinished": nobody runs it, and tasks are left. May be repeated.'),
  limit: LIMIT,
  cursor: integerIn(1, Number.MAX_SAFE_INTEGER).optional(),
});

/** Created here, because only schemas created after Hono extended zod can be named in the description. */
const NEW_TASK = z.strictObject(TASK_FIELDS).openapi('NewTask');
const TASKS = z.array(NEW_TASK).min(1).max(MAX_TASKS);
const NEW_TASKS = z.strictObject({ tasks: TASKS, return: RETURN }).openapi('NewTasks');

const NEW_BATCH = z
  .strictObject({
    batch: BATCH,
    tasks: TASKS,
    return: RETURN,
    start: START.optional().describe('Also starts the batch.'),
  })
  .openapi('NewBatch');

/** Routes that read batches and add tasks. */
export function batchRoutes(api: Api, parts: ServerParts): void {
  const { executor, store, texts, live } = parts;

  const bodyOf = async (batch: string) => {
    const view = await executor.view(batch);
    if (view === undefined) throw await unknownBatchError(store, batch);
    return batchBody(await live.speeds.addNow(view));
  };

  api.openapi(
    createRoute({
      ...secured('read'),
      operationId: 'listBatches',
      method: 'get',
      path: '/v1/batches',
      tags: TAGS,
      summary: 'Lists all batches, newest first',
      description: 'A page may be short, or empty, while there are more: go on until next_cursor is null.',
      request: { query: BATCHES_QUERY },
      responses: {
        200: answers(z.object({ batches: z.array(BATCH_VIEW), next_cursor: NEXT_CURSOR }), 'A page.'),
        ...REFUSALS,
      },
    }),
    async (context) => {
      const { search, state, limit = DEFAULT_LIMIT, cursor } = context.req.valid('query');
      const { views, nextNumber } = await executor.findViews({ search, phases: state }, cursor, limit);
      const next = nextNumber === undefined ? null : String(nextNumber);
      const batches = views.map((view) => batchBody(live.speeds.add(view)));
      return context.json({ batches, next_cursor: next }, 200);
    },
  );

  api.openapi(
    createRoute({
      ...secured('run', idempotent(parts)),
      operationId: 'createBatch',
      method: 'post',
      path: '/v1/batches',
      tags: TAGS,
      summary: 'Creates a batch or adds to it, and optionally starts it',
      description: 'Adds all tasks or none.',
      request: { body: takes(NEW_BATCH) },
      parameters: [IDEMPOTENCY_HEADER],
      responses: { 201: answers(BATCH_VIEW, 'The state of the batch.'), ...REFUSALS },
    }),
    async (context) => {
      const { batch, tasks, return: expression, start } = context.req.valid('json');
      requestOf(context).subject = `add ${tasks.length} to ${batch}`;
      await executor.perform('add_batch', { batch, tasks, return: expression });
      // A running batch takes them automatically.
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
      summary: 'Returns the state of a batch',
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
      summary: 'Adds tasks to a batch; a running batch takes them at once',
      request: { params: BATCH_PATH, body: takes(NEW_TASKS) },
      parameters: [IDEMPOTENCY_HEADER],
      responses: {
        201: answers(
          z.object({ ids: z.array(z.string()).describe('The first 100.'), batch: BATCH_VIEW }),
          'Their ids, and the state of the batch.',
        ),
        ...REFUSALS,
      },
    }),
    async (context) => {
      const { batch } = context.req.valid('param');
      const { tasks, return: expression } = context.req.valid('json');
      requestOf(context).subject = `add ${tasks.length} to ${batch}`;
      const { data } = await executor.perform('add_batch', { batch, tasks, return: expression });
      texts.clear();
      return context.json({ ids: data['ids'] as string[], batch: await bodyOf(batch) }, 201);
    },
  );
}

const DEFAULT_ATTEMPTS = 1000;
const MAX_ATTEMPTS = 5000;

const BRIEF_ATTEMPT = ATTEMPT.pick({
  attempt: true,
  started_at: true,
  ended_at: true,
  duration_ms: true,
  outcome: true,
  worker: true,
})
  .extend({ id: z.string().describe('The id of the execution.') })
  .openapi('BriefAttempt');

const QUERY = z.object({
  limit: integerIn(1, MAX_ATTEMPTS).optional().describe('Executions per page.'),
  cursor: integerIn(0, 2 ** 30 - 1).optional(),
});

/** Route for all attempts of a batch, for a timeline. */
export function attemptRoute(api: Api, { store }: ServerParts): void {
  api.openapi(
    createRoute({
      ...secured('read'),
      operationId: 'listAttempts',
      method: 'get',
      path: '/v1/batches/{batch}/attempts',
      tags: ['batches'],
      summary: 'Lists the attempts of each execution',
      request: { params: BATCH_PATH, query: QUERY },
      responses: {
        200: answers(z.object({ attempts: z.array(BRIEF_ATTEMPT), next_cursor: NEXT_CURSOR }), 'A page.'),
        ...REFUSALS,
      },
    }),
    async (context) => {
      const { batch } = context.req.valid('param');
      const { limit = DEFAULT_ATTEMPTS, cursor: afterSeq = 0 } = context.req.valid('query');
      await findBatch({ store }, batch);
      const { attempts, lastSeq } = await store.attempts(batch, { afterSeq, limit });
      const brief = attempts.map(({ id, attempt, startedAt, endedAt, durationMs, outcome, worker }) => ({
        id,
        attempt,
        started_at: startedAt,
        ended_at: endedAt ?? null,
        duration_ms: durationMs ?? null,
        outcome,
        worker: worker ?? null,
      }));
      return context.json(
        { attempts: brief, next_cursor: lastSeq === undefined ? null : String(lastSeq) },
        200,
      );
    },
  );
}

const TYPES = {
  json: 'application/json',
  csv: 'text/csv; charset=utf-8',
  jsonl: 'application/x-ndjson',
  markdown: 'text/markdown; charset=utf-8',
} as const satisfies Record<keyof typeof EXPORT_FORMATS, string>;

const ENDINGS = { json: 'json', csv: 'csv', jsonl: 'jsonl', markdown: 'md' } as const;
const CHUNK = 65_536;

/** Route that downloads all tasks with their results. */
export function exportRoute(api: Api, { store }: ServerParts): void {
  api.openapi(
    createRoute({
      ...secured('read'),
      operationId: 'exportBatch',
      method: 'get',
      path: '/v1/batches/{batch}/export',
      tags: ['batches'],
      summary: 'Downloads all tasks with their results',
      request: {
        params: BATCH_PATH,
        query: z.object({
          format: z.enum(['json', 'csv', 'jsonl', 'markdown']).default('json'),
          status: STATUS_FILTER.optional(),
        }),
      },
      responses: {
        200: {
          description: 'The file.',
          content: Object.fromEntries(
            Object.values(TYPES).map((type) => [type.split(';')[0]!, { schema: z.string() }]),
          ),
        },
        ...REFUSALS,
      },
    }),
    async (context) => {
      const { batch } = context.req.valid('param');
      const { format, status } = context.req.valid('query');
      await findBatch({ store }, batch);
      context.header('Content-Type', TYPES[format]);
      context.header('Content-Disposition', `attachment; filename="${fileName(batch)}.${ENDINGS[format]}"`);
      const pieces = exportPieces(store, batch, status, EXPORT_FORMATS[format]);
      return context.body(streamOf(pieces), 200);
    },
  );
}

const BLOB_PATH = BATCH_PATH.extend({ id: z.string().regex(/^[0-9a-f]{32}$/) });

/** Route for the pictures, sound and files of results. */
export function blobRoute(api: Api, { store }: ServerParts): void {
  api.openapi(
    createRoute({
      ...secured('read'),
      operationId: 'getBlob',
      method: 'get',
      path: '/v1/batches/{batch}/blobs/{id}',
      tags: ['batches'],
      summary: 'Downloads a picture, sound or file of a result',
      description: 'The id stands next to `$blob` in the result.',
      request: { params: BLOB_PATH },
      responses: {
        200: {
          description: 'The data, with the type that its server gave it.',
          content: { 'application/octet-stream': { schema: z.string() } },
        },
        ...REFUSALS,
      },
    }),
    async (context) => {
      const { batch, id } = context.req.valid('param');
      await findBatch({ store }, batch);
      const blob = await store.blob(batch, id);
      if (blob === undefined) {
        const text = `The batch ${JSON.stringify(batch)} has no picture, sound or file ${id}.`;
        throw new VolleyError('UNKNOWN_BLOB', text, { batch, id });
      }
      context.header('Content-Type', blob.mimeType);
      // The type comes from a stranger: a browser saves the data and runs nothing of it.
      context.header('Content-Disposition', `attachment; filename="${id}"`);
      return context.body(new Uint8Array(blob.bytes), 200);
    },
  );
}

/** Batch names may contain any printable characters. Those unsafe in headers or file names are replaced. */
function fileName(batch: string): string {
  return batch.replace(/[^\w.-]+/g, '_').replace(/^[._]+/, '') || 'batch';
}

/** Reads pieces as the client consumes them. */
function streamOf(pieces: AsyncGenerator<string, void, undefined>): ReadableStream {
  return new ReadableStream({
    pull: async (controller) => {
      let chunk = '';
      while (chunk.length < CHUNK) {
        const { done, value } = await pieces.next();
        if (done) break;
        chunk += value;
      }
      if (chunk === '') controller.close();
      else controller.enqueue(Buffer.from(chunk));
    },
    cancel: async () => {
      await pieces.return();
    },
  });
}
