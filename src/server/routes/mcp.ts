import { requireScope, scopesOf } from '../auth/principal.ts';
import type { ServerParts } from '../parts.ts';
import { type Api, requestOf } from './api.ts';

/** MCP over streamable HTTP, for agents. What a tool needs beyond reading is asked for when it is called. */
export function mcpRoute(api: Api, { mcp }: ServerParts): void {
  api.all('/mcp', async (context) => {
    const request = requestOf(context);
    request.route = '/mcp';
    const principal = requireScope(request.principal, 'read');
    const { method, raw } = context.req;
    // The gate has read it, and refused what is no JSON.
    const body: unknown = method === 'POST' ? await context.req.json().catch(() => undefined) : undefined;
    return mcp.handle(raw, body, {
      name: `${principal.kind} ${principal.name}`,
      scopes: scopesOf(principal),
    });
  });
}
