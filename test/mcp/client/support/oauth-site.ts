import { createHash, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { onTestFinished } from 'vitest';
import { z } from 'zod';

interface Grant {
  readonly client: string;
  readonly redirect: string;
  readonly challenge: string;
  readonly resource: string | null;
}

/** A site with an MCP server that wants a login, and the authorization server that gives it. */
export interface OAuthSite {
  readonly origin: string;
  readonly url: string;
  /** What was asked of it: `POST /token refresh_token`. */
  readonly log: string[];
  /** All tokens that it ever gave. */
  readonly secrets: string[];
  /** No access token that it gave is valid from now on. */
  expire(): void;
  /** Nor can any be renewed. */
  revoke(): void;
  /** How long tokens live, as it says. */
  expiresIn: number | undefined;
  /** Changes an answer. */
  answer: ((request: Request) => Response | undefined) | undefined;
}

const json = (value: object, status = 200) => Response.json(value, { status });

export async function oauthSite(): Promise<OAuthSite> {
  const clients = new Map<string, string[]>();
  const codes = new Map<string, Grant>();
  const access = new Set<string>();
  const refresh = new Map<string, string>();
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'tickets', version: '1.0.0' });
    server.registerTool(
      'count',
      { description: 'How many.', inputSchema: z.object({}), annotations: { readOnlyHint: true } },
      () => ({ content: [{ type: 'text', text: '3' }] }),
    );
    return server;
  });
  const site = {
    log: [] as string[],
    secrets: [] as string[],
    expiresIn: 3600 as number | undefined,
    answer: undefined as OAuthSite['answer'],
    expire: () => access.clear(),
    revoke: () => {
      access.clear();
      refresh.clear();
    },
  };

  const tokensFor = (client: string) => {
    const tokens = {
      access_token: `at-${randomBytes(12).toString('hex')}`,
      refresh_token: `rt-${randomBytes(12).toString('hex')}`,
    };
    access.add(tokens.access_token);
    refresh.set(tokens.refresh_token, client);
    site.secrets.push(...Object.values(tokens));
    return json({
      ...tokens,
      token_type: 'Bearer',
      ...(site.expiresIn !== undefined && { expires_in: site.expiresIn }),
    });
  };

  const answer = async (request: Request): Promise<Response> => {
    const { pathname, searchParams, origin } = new URL(request.url);
    const form = pathname === '/token' ? new URLSearchParams(await request.clone().text()) : undefined;
    site.log.push(
      [request.method, pathname, form?.get('grant_type')].filter((part) => part != null).join(' '),
    );
    const changed = site.answer?.(request);
    if (changed !== undefined) return changed;
    switch (pathname) {
      case '/.well-known/oauth-protected-resource/mcp':
        return json({
          resource: `${origin}/mcp`,
          authorization_servers: [origin],
          scopes_supported: ['tickets'],
        });
      case '/.well-known/oauth-authorization-server':
        return json({
          issuer: origin,
          authorization_endpoint: `${origin}/authorize`,
          token_endpoint: `${origin}/token`,
          registration_endpoint: `${origin}/register`,
          response_types_supported: ['code'],
          grant_types_supported: ['authorization_code', 'refresh_token'],
          code_challenge_methods_supported: ['S256'],
          token_endpoint_auth_methods_supported: ['none'],
        });
      case '/register': {
        const { redirect_uris: redirects } = (await request.json()) as { redirect_uris: string[] };
        const id = `client-${clients.size + 1}`;
        clients.set(id, redirects);
        return json({ client_id: id, redirect_uris: redirects }, 201);
      }
      case '/authorize': {
        const [client, redirect] = [searchParams.get('client_id')!, searchParams.get('redirect_uri')!];
        const isRight =
          clients.get(client)?.includes(redirect) === true &&
          searchParams.get('code_challenge_method') === 'S256' &&
          searchParams.get('response_type') === 'code';
        if (!isRight) return new Response('no', { status: 400 });
        const code = randomBytes(12).toString('hex');
        const challenge = searchParams.get('code_challenge')!;
        codes.set(code, { client, redirect, challenge, resource: searchParams.get('resource') });
        const back = new URL(redirect);
        back.searchParams.set('code', code);
        back.searchParams.set('state', searchParams.get('state')!);
        return new Response(null, { status: 302, headers: { location: back.href } });
      }
      case '/token': {
        const client = form!.get('client_id')!;
        if (form!.get('grant_type') === 'refresh_token') {
          const token = form!.get('refresh_token')!;
          if (refresh.get(token) !== client) return json({ error: 'invalid_grant' }, 400);
          refresh.delete(token);
          return tokensFor(client);
        }
        const grant = codes.get(form!.get('code')!);
        codes.clear();
        const digest = createHash('sha256').update(form!.get('code_verifier')!).digest('base64url');
        const isRight =
          grant?.client === client &&
          grant.redirect === form!.get('redirect_uri') &&
          grant.challenge === digest &&
          grant.resource === `${origin}/mcp`;
        return isRight ? tokensFor(client) : json({ error: 'invalid_grant' }, 400);
      }
      case '/mcp': {
        const [, token = ''] = /^Bearer (.*)$/.exec(request.headers.get('authorization') ?? '') ?? [];
        if (access.has(token)) return handler.fetch(request);
        const metadata = `${origin}/.well-known/oauth-protected-resource/mcp`;
        return new Response(null, {
          status: 401,
          headers: { 'www-authenticate': `Bearer resource_metadata="${metadata}"` },
        });
      }
      default:
        return new Response('no', { status: 404 });
    }
  };

  const listener = getRequestListener(answer, { overrideGlobalObjects: false });
  const server = createServer((request, response) => void listener(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return Object.assign(site, { origin, url: `${origin}/mcp` });
}

/** Agrees as a person in a browser would, and returns what the last page says. */
export async function agree(address: string): Promise<{ status: number; text: string }> {
  const response = await fetch(address);
  return { status: response.status, text: await response.text() };
}
