import { createRoute, z } from '@hono/zod-openapi';
import { SCOPES } from '../../batch/actions/define-action.ts';
import { type Principal, requireScope, scopesOf, unauthenticated } from '../auth/principal.ts';
import { TIME } from '../wire/kinds.ts';
import { type Api, answers, open, REFUSALS, requestOf, secured, takes } from './api.ts';
import type { ServerParts } from './parts.ts';

const TAGS = ['session'];

const SESSION = z
  .object({
    name: z.string(),
    scopes: z.array(z.enum(SCOPES)),
    project: z.string().describe('The name of the folder that the server works in.'),
    expires_at: TIME.nullable(),
  })
  .openapi('Session');

/** Routes for the current principal, and for signing in and out. */
export function sessionRoutes(api: Api, parts: ServerParts): void {
  const { keys, sessions, cookie, streams, project } = parts;
  const sessionBody = (principal: Principal) => ({
    name: principal.name,
    scopes: scopesOf(principal),
    project,
    expires_at: principal.expiresAt ?? null,
  });

  api.openapi(
    createRoute({
      middleware: [open],
      security: [],
      operationId: 'signIn',
      method: 'post',
      path: '/v1/session',
      tags: TAGS,
      summary: 'Exchanges a one-time key for a session cookie',
      description: 'The key is part of the address that "volley serve" and "volley dashboard" print.',
      request: { body: takes(z.strictObject({ key: z.string().min(1).max(200) })) },
      responses: { 201: answers(SESSION, 'Signed in.'), ...REFUSALS },
    }),
    (context) => {
      const now = Date.now();
      if (!keys.redeem(context.req.valid('json').key, now))
        throw unauthenticated('The key is unknown, already used or expired');
      const { secret, principal } = sessions.open(now);
      const request = requestOf(context);
      request.principal = principal;
      request.subject = 'signed in';
      context.header('Set-Cookie', cookie.set(secret, (principal.expiresAt ?? now) - now));
      return context.json(sessionBody(principal), 201);
    },
  );

  api.openapi(
    createRoute({
      ...secured('read'),
      operationId: 'getSession',
      method: 'get',
      path: '/v1/session',
      tags: TAGS,
      summary: 'Returns the current principal and its scope',
      responses: { 200: answers(SESSION, 'The token or session.'), ...REFUSALS },
    }),
    (context) => context.json(sessionBody(requireScope(requestOf(context).principal, 'read')), 200),
  );

  api.openapi(
    createRoute({
      ...secured('read'),
      operationId: 'signOut',
      method: 'delete',
      path: '/v1/session',
      tags: TAGS,
      summary: 'Ends the session of the cookie, and its streams',
      responses: { 204: { description: 'Signed out.' }, ...REFUSALS },
    }),
    (context) => {
      const secret = cookie.read(context.env.incoming.headers.cookie);
      const ended = secret === undefined ? undefined : sessions.end(secret);
      if (ended !== undefined) streams.cut(ended.client);
      context.header('Set-Cookie', cookie.clear());
      return context.body(null, 204);
    },
  );

  api.openapi(
    createRoute({
      ...secured('admin'),
      operationId: 'createSessionKey',
      method: 'post',
      path: '/v1/session/keys',
      tags: TAGS,
      summary: 'Creates another one-time key, for another browser',
      responses: {
        201: answers(
          z.object({ url: z.string().describe('The address to open, valid for an hour.') }),
          'A key.',
        ),
        ...REFUSALS,
      },
    }),
    (context) => context.json({ url: `${parts.address()}/#key=${keys.make(Date.now())}` }, 201),
  );
}
