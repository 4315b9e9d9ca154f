import { z } from '@hono/zod-openapi';
import type { McpServerHealth } from '../../mcp/client/server-link.ts';

/** How an MCP server of the configuration is. */
export const MCP_SERVER = z
  .object({
    name: z.string(),
    kind: z.enum(['stdio', 'http']),
    status: z
      .enum(['idle', 'starting', 'ready', 'failed', 'waiting', 'closed'])
      .describe('"idle" before its first use; "waiting" after a failure, until it may be tried again.'),
    tools: z.int().describe('How many of its tools can be called.'),
    restarts: z.int(),
    calls: z.int(),
    failed_calls: z.int(),
    problem: z.string().nullable().describe('Why it could not be started, or ended.'),
    retry_in_ms: z.number().nullable(),
  })
  .openapi('McpServer');

export type McpServerBody = z.output<typeof MCP_SERVER>;

export function mcpServerBody(health: McpServerHealth): McpServerBody {
  const { name, kind, status, tools, restarts, calls, failedCalls, problem, retryInMs } = health;
  return {
    name,
    kind,
    status,
    tools,
    restarts,
    calls,
    failed_calls: failedCalls,
    problem: problem ?? null,
    retry_in_ms: retryInMs ?? null,
  };
}
