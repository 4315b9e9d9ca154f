import { requireScope, scopesOf } from '../auth/principal.ts';
import { limitUnread } from '../http/limits.ts';
import { type Api, requestOf } from './api.ts';
import type { ServerParts } from './parts.ts';

/** Route for MCP over streamable HTTP. Scopes beyond reading are checked when a tool is called. */
export function mcpRoute(api: Api, { mcp, streams }: ServerParts): void {
  api.all('/mcp', async (context) => {
    const request = requestOf(context);
    request.route = '/mcp';
    const principal = requireScope(request.principal, 'read');
    const { method, raw } = context.req;
    const body: unknown = method === 'POST' ? await context.req.json().catch(() => undefined) : undefined;
    // A response that stays open counts as an event stream.
    if (method === 'GET' || isListening(body))
      streams.take([principal.client, `address ${request.address}`], context.env.outgoing);
    request.subject = subjectOf(body);
    const caller = { name: principal.client, scopes: scopesOf(principal) };
    return limitUnread(await mcp.handle(raw, body, caller), context.env.outgoing);
  });
}

/** Whether a client of the 2026 revision subscribes to changes, which it does with a POST. */
function isListening(body: unknown): boolean {
  return (body as { method?: unknown } | null | undefined)?.method === 'subscriptions/listen';
}

/** The method and the tool name, for the audit log. */
function subjectOf(body: unknown): string | undefined {
  const { method, params } = (body ?? {}) as { method?: unknown; params?: { name?: unknown } | null };
  const words = [method, params?.name].filter((word) => typeof word === 'string');
  return words.length === 0 ? undefined : words.join(' ').slice(0, 100);
}
