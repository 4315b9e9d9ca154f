import { createRoute, z } from '@hono/zod-openapi';
import { mcpHealth } from '../../mcp/client/attach.ts';
import { mcpServerBody, STATISTICS } from '../wire/statistics.ts';
import { type Api, answers, open, REFUSALS, secured } from './api.ts';
import type { ServerParts } from './parts.ts';

const HEALTH = z.object({ status: z.enum(['ok', 'stopping']) }).openapi('Health');
const CHALLENGE = z.string().regex(/^[\da-f]{64}$/);

/** Routes about the server itself. */
export function systemRoutes(api: Api, parts: ServerParts): void {
  const { metrics, coordinator } = parts;

  api.openapi(
    createRoute({
      middleware: [open],
      security: [],
      operationId: 'getHealth',
      method: 'get',
      path: '/healthz',
      tags: ['system'],
      summary: 'Reports whether the server is alive; needs no token',
      description:
        'Answers a challenge with its HMAC-SHA-256, keyed with the token of the server record. Commands use it to check that a record belongs to this server.',
      request: { query: z.object({ challenge: CHALLENGE.optional() }) },
      responses: { 200: answers(HEALTH.extend({ proof: z.string().optional() }), 'It does.') },
    }),
    (context) => {
      const { challenge } = context.req.valid('query');
      const proof = challenge === undefined ? {} : { proof: parts.proofOf(challenge) };
      return context.json({ status: 'ok' as const, ...proof }, 200);
    },
  );

  api.openapi(
    createRoute({
      middleware: [open],
      security: [],
      operationId: 'getReadiness',
      method: 'get',
      path: '/readyz',
      tags: ['system'],
      summary: 'Reports whether the server accepts work; needs no token',
      responses: { 200: answers(HEALTH, 'It does.'), 503: answers(HEALTH, 'It is stopping.') },
    }),
    (context) =>
      parts.isReady()
        ? context.json({ status: 'ok' as const }, 200)
        : context.json({ status: 'stopping' as const }, 503),
  );

  api.openapi(
    createRoute({
      ...secured('read'),
      operationId: 'getStatistics',
      method: 'get',
      path: '/v1/statistics',
      tags: ['system'],
      summary: 'Returns engine statistics, with ten minutes of utilization',
      responses: { 200: answers(STATISTICS, 'The numbers.'), ...REFUSALS },
    }),
    (context) =>
      context.json({ ...metrics.statistics(), mcp_servers: mcpHealth(coordinator).map(mcpServerBody) }, 200),
  );

  api.openapi(
    createRoute({
      ...secured('read'),
      operationId: 'getMetrics',
      method: 'get',
      path: '/metrics',
      tags: ['system'],
      summary: 'Returns metrics for Prometheus',
      responses: {
        200: { description: 'Text.', content: { 'text/plain': { schema: z.string() } } },
        ...REFUSALS,
      },
    }),
    async (context) => {
      const { contentType, body } = await metrics.text();
      return context.body(body, 200, { 'Content-Type': contentType }) as never;
    },
  );
}

/** Route for the API description, which is generated on first use. */
export function documentRoute(api: Api, make: () => object): void {
  let text: string | undefined;
  api.openapi(
    createRoute({
      ...secured('read'),
      operationId: 'getOpenApi',
      method: 'get',
      path: '/openapi.json',
      tags: ['system'],
      summary: 'Returns this description',
      responses: { 200: answers(z.record(z.string(), z.unknown()), 'OpenAPI 3.1.'), ...REFUSALS },
    }),
    (context) => {
      text ??= JSON.stringify(make());
      return context.body(text, 200, { 'Content-Type': 'application/json' }) as never;
    },
  );
}

const DESCRIPTION =
  "Volley runs an AI agent's work in parallel. Everything that the dashboard shows can be read here. Errors are application/problem+json with a stable code.";

/** Generates the API description from the request schemas. */
export function openApiDocument(api: Api, version: string): object {
  const document = api.getOpenAPI31Document({
    openapi: '3.1.0',
    info: {
      title: 'Volley',
      version,
      description: DESCRIPTION,
      license: { name: 'MIT' },
    },
    servers: [{ url: '/' }],
  });
  const { components = {} } = document;
  return {
    ...document,
    components: {
      ...components,
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: 'volley_<port>',
          description: 'For a browser that has exchanged a one-time key.',
        },
      },
    },
  };
}
