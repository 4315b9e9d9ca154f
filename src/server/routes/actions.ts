import { createRoute, z } from '@hono/zod-openapi';
import type { Action, HttpForm } from '../../batch/actions/define-action.ts';
import { DEFINITIONS } from '../../batch/actions/definitions.ts';
import { requestedAction, requestScope } from '../../batch/actions/request.ts';
import type { BatchAnswer } from '../../batch/answer.ts';
import { requireScope } from '../auth/principal.ts';
import {
  type Api,
  answers,
  BATCH_PATH,
  integerIn,
  mayTake,
  REFUSALS,
  requestOf,
  secured,
  takes,
} from './api.ts';
import { IDEMPOTENCY_HEADER, idempotent } from './idempotency.ts';
import type { ServerParts } from './parts.ts';

const BATCH_REQUEST = z
  .record(z.string(), z.unknown())
  .openapi('BatchRequest', { example: { action: 'status' } });

/** The answer of the batch executor to any request. */
export const BATCH_ANSWER = z
  .object({
    ok: z.boolean(),
    action: z.string(),
    text: z.string().describe('A few lines for people and models.'),
    data: z.record(z.string(), z.unknown()),
    error: z.object({ code: z.string(), message: z.string() }).optional(),
  })
  .openapi('BatchAnswer');

interface ActionRoute {
  readonly action: Action;
  readonly http: HttpForm;
  /** Of the body, or of the query of a GET. */
  readonly schema: z.ZodObject;
}

/** Created once, because the API description keeps every registered schema. */
const ROUTES: readonly ActionRoute[] = DEFINITIONS.flatMap((action: Action) => {
  const { http } = action;
  return http === undefined ? [] : [{ action, http, schema: schemaOf(action, http) }];
});

/** The body of `POST /v1/batches/{batch}/start`. */
export const START = ROUTES.find(({ action }) => action.name === 'start')!.schema;

/** Adds the routes that actions define, and one that accepts any request of `batch_executor_tool`. */
export function actionRoutes(api: Api, parts: ServerParts): void {
  for (const route of ROUTES) addActionRoute(api, parts, route);

  api.openapi(
    createRoute({
      ...secured('read', idempotent(parts)),
      operationId: 'requestAction',
      method: 'post',
      path: '/v1/actions',
      tags: ['actions'],
      summary: 'Sends a request to batch_executor_tool',
      description: `Actions: ${DEFINITIONS.map(({ name, summary }) => `${name} (${summary})`).join('; ')}. A refused action is an answer with "ok": false, not a problem document.`,
      request: { body: takes(BATCH_REQUEST) },
      parameters: [IDEMPOTENCY_HEADER],
      responses: { 200: answers(BATCH_ANSWER, 'The answer.'), ...REFUSALS },
    }),
    async (context) => {
      const request = context.req.valid('json');
      const current = requestOf(context);
      current.subject = requestedAction(request);
      requireScope(current.principal, requestScope(request));
      const answer = await parts.executor.handle(request);
      parts.texts.clear();
      current.isRefused = !answer.ok;
      return context.json(answer, 200);
    },
  );
}

function addActionRoute(
  api: Api,
  { executor, texts }: ServerParts,
  { action, http, schema }: ActionRoute,
): void {
  const { method, path, operationId } = http;
  const perform = executor.perform.bind(executor) as (name: string, args: object) => Promise<BatchAnswer>;
  api.openapi(
    createRoute({
      ...secured(action.scope),
      operationId,
      method,
      path,
      tags: ['batches'],
      summary: action.summary,
      request: { params: BATCH_PATH, ...(method === 'get' ? { query: schema } : { body: mayTake(schema) }) },
      responses: { 200: answers(BATCH_ANSWER, 'The answer.'), ...REFUSALS },
    }),
    async (context) => {
      const { batch } = context.req.valid('param');
      const target = (method === 'get' ? 'query' : 'json') as never;
      const given = context.req.valid(target) as Record<string, unknown>;
      // Without a body nothing was validated, and a query omits defaults.
      const isWhole = method === 'post' && Object.keys(given).length > 0;
      const args = argsOf(http, batch, given);
      requestOf(context).subject = batch;
      const answer = await perform(action.name, isWhole ? args : action.schema.parse(args));
      texts.clear();
      return context.json(answer, 200);
    },
  );
}

function schemaOf({ name, schema }: Action, { method, names = {}, without = [] }: HttpForm): z.ZodObject {
  const fields = Object.entries(schema.shape)
    .filter(([field]) => field !== 'batch' && !without.includes(field))
    .map(([field, type]) => [names[field] ?? field, method === 'get' ? queryField(type) : type] as const);
  const shape = Object.fromEntries(fields);
  if (method === 'get') return z.object(shape);
  return z.strictObject(shape).openapi(`${name[0]!.toUpperCase()}${name.slice(1)}`);
}

/** Query parameters are strings. */
function queryField(type: z.core.$ZodType): z.core.$ZodType {
  const {
    type: kind,
    minimum,
    maximum,
    description,
  } = z.toJSONSchema(type, {
    io: 'input',
    unrepresentable: 'any',
  });
  if (kind !== 'integer') return type;
  const field = integerIn(minimum!, maximum!).optional();
  return description === undefined ? field : field.describe(description);
}

function argsOf(
  { names = {}, otherwise }: HttpForm,
  batch: string,
  given: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const fields = {
    ...(otherwise !== undefined && !(otherwise.unless in given) && otherwise.fields),
    ...given,
  };
  const own = Object.fromEntries(Object.entries(names).map(([field, name]) => [name, field]));
  const renamed = Object.entries(fields).filter(([, value]) => value !== undefined);
  return { batch, ...Object.fromEntries(renamed.map(([name, value]) => [own[name] ?? name, value])) };
}
