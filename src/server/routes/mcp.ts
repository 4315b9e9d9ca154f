import { requireScope, scopesOf } from '../auth/principal.ts';
import type { ServerParts } from '../parts.ts';
import { type Api, requestOf } from './api.ts';

/** MCP over streamable HTTP, for agents. What a tool needs beyond reading is asked for when it is called. */
export function mcpRoute(api: Api, { mcp, streams }: ServerParts): void {
  api.all('/mcp', async (context) => {
    const request = requestOf(context);
    request.route = '/mcp';
    const principal = requireScope(request.principal, 'read');
    const { method, raw } = context.req;
    // What is asked for is a stream, which counts like those of events.
    if (method === 'GET')
      streams.take([principal.client, `address ${request.address}`], context.env.outgoing);
    const body: unknown = method === 'POST' ? await context.req.json().catch(() => undefined) : undefined;
    request.subject = subjectOf(body);
    return mcp.handle(raw, body, {
      name: principal.client,
      scopes: scopesOf(principal),
    });
  });
}

/** What was asked for, for the audit: the method, and the name of the tool. */
function subjectOf(body: unknown): string | undefined {
  const { method, params } = (body ?? {}) as { method?: unknown; params?: { name?: unknown } | null };
  const words = [method, params?.name].filter((word) => typeof word === 'string');
  return words.length === 0 ? undefined : words.join(' ').slice(0, 100);
}
