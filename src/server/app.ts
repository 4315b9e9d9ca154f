import { HTTPException } from 'hono/http-exception';
import { VolleyError } from '../core/errors.ts';
import { nearest } from '../core/nearest.ts';
import { unauthenticated } from './auth/principal.ts';
import { jsonFault } from './http/body.ts';
import { problemBody, problemHeaders } from './http/problem.ts';
import { actionRoutes } from './routes/actions.ts';
import { type Api, type ApiContext, createApi, requestOf } from './routes/api.ts';
import { attemptRoute, batchRoutes, blobRoute, exportRoute } from './routes/batches.ts';
import { dashboard } from './routes/dashboard.ts';
import { eventRoutes } from './routes/events.ts';
import { executeRoute } from './routes/execute.ts';
import { executionRoutes, resultRoute } from './routes/executions.ts';
import { featureRoutes } from './routes/features.ts';
import { logRoutes } from './routes/logs.ts';
import { mcpRoute } from './routes/mcp.ts';
import type { ServerParts } from './routes/parts.ts';
import { sessionRoutes } from './routes/session.ts';
import { documentRoute, openApiDocument, systemRoutes } from './routes/system.ts';
import { toolRoutes } from './routes/tools.ts';
import { workerRoutes } from './routes/workers.ts';

/** All routes of the server, and the answer to unknown paths. */
export function createApp(parts: ServerParts): Api {
  const api = createApi();
  addRoutes(api, parts);
  mcpRoute(api, parts);
  const page = dashboard(parts);
  api.notFound((context) => {
    const { method, path } = context.req;
    const isApi = /^\/(v1|metrics|openapi\.json)(\/|$)/.test(path);
    const found = isApi || (method !== 'GET' && method !== 'HEAD') ? undefined : page(context);
    return found ?? refusal(context, absence(api, context, isApi), parts);
  });
  api.onError((error, context) => refusal(context, error, parts));
  return api;
}

/** Only the described routes. */
export function addRoutes(api: Api, parts: ServerParts): void {
  batchRoutes(api, parts);
  actionRoutes(api, parts);
  exportRoute(api, parts);
  attemptRoute(api, parts);
  blobRoute(api, parts);
  executionRoutes(api, parts);
  resultRoute(api, parts);
  logRoutes(api, parts);
  featureRoutes(api, parts);
  toolRoutes(api, parts);
  executeRoute(api, parts);
  eventRoutes(api, parts);
  sessionRoutes(api, parts);
  systemRoutes(api, parts);
  workerRoutes(api, parts);
  documentRoute(api, () => openApiDocument(api, parts.version));
}

/** The error for an unknown path. Without a token it reveals nothing about the API. */
function absence(api: Api, context: ApiContext, isApi: boolean): VolleyError {
  if (isApi && requestOf(context).principal === undefined) return unauthenticated('This needs a token');
  const { path, method } = context.req;
  const allowed = [
    ...new Set(api.routes.filter((route) => matches(route.path, path)).map(({ method: one }) => one)),
  ];
  if (allowed.length > 0) {
    context.header('Allow', allowed.join(', '));
    return new VolleyError('METHOD_NOT_ALLOWED', `${path} allows ${allowed.join(' or ')}, not ${method}.`, {
      allowed,
    });
  }
  const close = nearest(
    path,
    api.routes.map((route) => route.path),
  );
  return new VolleyError(
    'UNKNOWN_ROUTE',
    `There is no route ${JSON.stringify(path.slice(0, 200))}${close === undefined ? '.' : `. Did you mean ${close}?`}`,
    { nearest: close },
  );
}

/** Whether a path is one of a pattern such as `/v1/batches/:batch`. */
function matches(pattern: string, path: string): boolean {
  const parts = path.split('/');
  const wanted = pattern.split('/');
  return (
    wanted.length === parts.length &&
    wanted.every((part, index) => part === parts[index] || (part.startsWith(':') && parts[index] !== ''))
  );
}

function refusal(context: ApiContext, thrown: unknown, { log }: ServerParts): Response {
  const error = thrown instanceof HTTPException ? faultOf(thrown, context) : thrown;
  const problem = problemBody(error);
  if (problem.code === 'INTERNAL') log.failed(context.env.incoming, error);
  const { total } = (problem.facts ?? {}) as { total?: number };
  return context.body(JSON.stringify(problem), problem.status as 500, {
    ...problemHeaders(problem),
    ...(problem.status === 416 && { 'Content-Range': `bytes */${total}` }),
  });
}

/** Converts the errors of Hono's validators. */
function faultOf({ status }: HTTPException, { env }: ApiContext): VolleyError {
  if (status === 415)
    return new VolleyError(
      'UNSUPPORTED_MEDIA_TYPE',
      'The body must be JSON. Send "Content-Type: application/json".',
    );
  const { rawBody = Buffer.alloc(0) } = env.incoming as { rawBody?: Buffer };
  return jsonFault(rawBody);
}
