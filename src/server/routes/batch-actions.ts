import { createRoute, type z } from '@hono/zod-openapi';
import type { Scope } from '../auth/principal.ts';
import type { ServerParts } from '../parts.ts';
import { BATCH_ANSWER, CHOSEN_IDS, CLEAR, START, STOP } from '../wire/requests.ts';
import { type Api, answers, BATCH_PATH, mayTake, REFUSALS, requestOf, secured } from './api.ts';
import { ask } from './ask.ts';

interface BatchAction<S extends z.ZodType> {
  readonly name: 'start' | 'stop' | 'cancel' | 'retry' | 'clear';
  readonly scope: Scope;
  readonly summary: string;
  readonly schema: S;
  /** What the batch executor is asked. */
  request(body: z.output<S>): Readonly<Record<string, unknown>>;
}

/** What can be done with a batch as a whole, each as a path of its own. */
export function batchActionRoutes(api: Api, parts: ServerParts): void {
  const add = <S extends z.ZodType>(action: BatchAction<S>) => {
    const { name, scope, summary } = action;
    const schema: z.ZodType = action.schema;
    api.openapi(
      createRoute({
        ...secured(scope),
        method: 'post',
        path: `/v1/batches/{batch}/${name}`,
        tags: ['batches'],
        summary,
        request: { params: BATCH_PATH, body: mayTake(schema) },
        responses: { 200: answers(BATCH_ANSWER, 'What came of it.'), ...REFUSALS },
      }),
      async (context) => {
        const { batch } = context.req.valid('param');
        const request = action.request(context.req.valid('json') as z.output<S>);
        requestOf(context).subject = batch;
        return context.json(await ask(parts, { action: name, batch, ...request }), 200);
      },
    );
  };

  add({
    name: 'start',
    scope: 'run',
    summary: 'Runs all open tasks',
    schema: START,
    request: (options) => options,
  });
  add({
    name: 'stop',
    scope: 'run',
    summary: 'Starts nothing more; what is left stays open',
    schema: STOP,
    request: (options) => options,
  });
  add({
    name: 'cancel',
    scope: 'run',
    summary: 'Ends tasks for good: the given ones, or all that have not ended',
    schema: CHOSEN_IDS,
    request: ({ ids }) => (ids === undefined ? { all: true } : { ids }),
  });
  add({
    name: 'retry',
    scope: 'run',
    summary: 'Opens again what failed, was cancelled or was skipped: the given ones, or all',
    schema: CHOSEN_IDS,
    request: (chosen) => chosen,
  });
  add({
    name: 'clear',
    scope: 'admin',
    summary: 'Forgets the batch with all its results, or its tasks of some statuses',
    schema: CLEAR,
    request: ({ status }) => ({ filter_status: status }),
  });
}
