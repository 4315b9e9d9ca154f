import type { MiddlewareHandler } from 'hono';
import type { ServerParts } from '../parts.ts';
import { type ApiEnv, requestOf } from './api.ts';

/** Header of requests that create something; see {@link IdempotencyTable}. */
export const IDEMPOTENCY_HEADER = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: 'The same request with the same key is done once, however often it is sent. Kept for a day.',
  schema: { type: 'string', maxLength: 255 },
} as const;

/** Does what creates something once for each key that a client chose. */
export function idempotent({ idempotency }: ServerParts): MiddlewareHandler<ApiEnv> {
  return async (context, next) => {
    const { incoming } = context.env;
    const key = incoming.headers['idempotency-key'];
    if (key === undefined) return next();
    const request = requestOf(context);
    const { principal } = request;
    const { rawBody = Buffer.alloc(0) } = incoming as { rawBody?: Buffer };
    const scope = `${principal?.kind} ${principal?.name} ${incoming.method} ${context.req.path}`;
    const { status, headers, body, isRepeated } = await idempotency.once(
      scope,
      String(key),
      rawBody,
      Date.now(),
      async () => {
        await next();
        const { res } = context;
        return {
          status: res.status,
          headers: kept(res.headers),
          body: await res.clone().text(),
          isDone: res.ok && !request.isRefused,
        };
      },
    );
    if (!isRepeated) return;
    context.res = new Response(body, { status, headers: { ...headers, 'Idempotency-Replayed': 'true' } });
  };
}

function kept(headers: Headers): Record<string, string> {
  return Object.fromEntries(
    ['content-type', 'location'].flatMap((name) => {
      const value = headers.get(name);
      return value === null ? [] : [[name, value]];
    }),
  );
}
