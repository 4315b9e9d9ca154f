import type { CallToolResult, ServerContext } from '@modelcontextprotocol/server';
import { VolleyError } from '../../core/errors.ts';
import type { McpBackend, McpScope, OpenBackend } from './backend.ts';
import type { CallCount } from './call-count.ts';
import type { McpCall, ToolAnswer } from './tool.ts';

/** What calls of a client are served with. */
export interface ToolHost {
  readonly open: OpenBackend;
  readonly calls: CallCount;
  /** Is told of defects of ours. */
  onError(error: unknown): void;
}

/** Over HTTP the caller has scopes; whoever started this process may do everything. */
export function requireScope({ http }: ServerContext, scope: McpScope): void {
  const { authInfo } = http ?? {};
  if (http === undefined || authInfo?.scopes.includes(scope) === true) return;
  throw new VolleyError(
    'NOT_PERMITTED',
    `This needs the scope "${scope}", but the token of ${authInfo?.clientId ?? 'the client'} does not have it: use another token.`,
    { needed: scope },
  );
}

export function callOf({ mcpReq }: ServerContext, backend: McpBackend): McpCall {
  const { progressToken } = mcpReq._meta ?? {};
  return {
    backend,
    signal: mcpReq.signal,
    report:
      progressToken === undefined
        ? undefined
        : (progress, total, message) =>
            mcpReq.notify({
              method: 'notifications/progress',
              params: { progressToken, progress, total, message },
            }),
    log: (level, data) => {
      // A client that went away has no use for it.
      mcpReq.log(level, data, 'volley').catch(() => undefined);
    },
  };
}

/** An answer as the protocol has it. */
export function contentOf({ text, data, isError = false }: ToolAnswer): CallToolResult {
  return {
    content: [{ type: 'text', text }],
    ...(Object.keys(data).length > 0 && { structuredContent: data }),
    ...(isError && { isError }),
  };
}
