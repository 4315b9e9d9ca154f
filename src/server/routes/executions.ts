import { createRoute, z } from '@hono/zod-openapi';
import { BATCH, STATUS_FILTER } from '../../batch/input/fields.ts';
import type { ServerParts } from '../parts.ts';
import { executionBody } from '../views/execution-body.ts';
import { executionDetail } from '../views/execution-detail.ts';
import { findExecutions } from '../views/find-executions.ts';
import { EXECUTION, EXECUTION_DETAIL } from '../wire/execution.ts';
import { NEXT_CURSOR } from '../wire/kinds.ts';
import { BATCH_ANSWER, LIMIT } from '../wire/requests.ts';
import { type Api, answers, REFUSALS, requestOf, secured, TASK_PATH } from './api.ts';
import { ask } from './ask.ts';

const TAGS = ['executions'];
const DEFAULT_LIMIT = 100;

/** Reads executions, and ends or reopens one. */
export function executionRoutes(api: Api, parts: ServerParts): void {
  const { executor, store } = parts;

  api.openapi(
    createRoute({
      ...secured('read'),
      method: 'get',
      path: '/v1/executions',
      tags: TAGS,
      summary: 'Executions of a batch, or of all',
      description:
        'A page may be short, or empty, while there are more: go on until next_cursor is null. They come in the order in which they were added.',
      request: {
        query: z.object({
          batch: BATCH.unwrap().optional(),
          status: STATUS_FILTER.optional(),
          function: z.string().max(128).optional(),
          search: z.string().min(1).max(200).optional().describe('A part of the id or the name.'),
          sort: z.enum(['seq', '-seq']).optional().describe('-seq: the last added first.'),
          limit: LIMIT,
          cursor: z.string().max(40).optional(),
        }),
      },
      responses: {
        200: answers(z.object({ executions: z.array(EXECUTION), next_cursor: NEXT_CURSOR }), 'A page.'),
        ...REFUSALS,
      },
    }),
    async (context) => {
      const { batch, status, function: tool, search, sort, cursor, limit } = context.req.valid('query');
      const page = await findExecutions(store, {
        batch,
        status,
        function: tool,
        search,
        isBackwards: sort === '-seq',
        limit: limit ?? DEFAULT_LIMIT,
        cursor,
      });
      const executions = page.records.map((record) => executionBody(record, executor));
      return context.json({ executions, next_cursor: page.nextCursor }, 200);
    },
  );

  api.openapi(
    createRoute({
      ...secured('read'),
      method: 'get',
      path: '/v1/executions/{batch}/{id}',
      tags: TAGS,
      summary: 'One execution, with its attempts',
      request: { params: TASK_PATH },
      responses: { 200: answers(EXECUTION_DETAIL, 'The execution.'), ...REFUSALS },
    }),
    async (context) => {
      const { batch, id } = context.req.valid('param');
      return context.json(await executionDetail(parts, batch, id), 200);
    },
  );

  api.openapi(
    createRoute({
      ...secured('read'),
      method: 'get',
      path: '/v1/executions/{batch}/{id}/explain',
      tags: TAGS,
      summary: 'Why it does not run, or how it ended',
      request: { params: TASK_PATH },
      responses: {
        200: answers(
          z.object({ explanation: z.string().nullable().describe('null while it runs.') }),
          'In words.',
        ),
        ...REFUSALS,
      },
    }),
    async (context) => {
      const { batch, id } = context.req.valid('param');
      return context.json({ explanation: (await executor.explain(batch, id)) ?? null }, 200);
    },
  );

  for (const [action, summary] of [
    ['cancel', 'Ends it for good'],
    ['retry', 'Opens it again, with what was skipped because of it'],
  ] as const) {
    api.openapi(
      createRoute({
        ...secured('run'),
        method: 'post',
        path: `/v1/executions/{batch}/{id}/${action}`,
        tags: TAGS,
        summary,
        request: { params: TASK_PATH },
        responses: { 200: answers(BATCH_ANSWER, 'What came of it.'), ...REFUSALS },
      }),
      async (context) => {
        const { batch, id } = context.req.valid('param' as never) as z.output<typeof TASK_PATH>;
        requestOf(context).subject = `${batch}/${id}`;
        return context.json(await ask(parts, { action, batch, ids: [id] }), 200);
      },
    );
  }
}
