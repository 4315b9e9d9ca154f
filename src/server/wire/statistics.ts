import { z } from '@hono/zod-openapi';
import { RESOURCE_TABLE } from '../../core/resource-table.ts';
import type { McpServerHealth } from '../../mcp/client/server-link.ts';
import { TIME } from './kinds.ts';

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

type McpServerBody = z.output<typeof MCP_SERVER>;

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

/** One resource: how much of it is in use and how much there is. */
const USE = z.object({ name: z.string(), used: z.number(), limit: z.number().nullable() });

const FIGURES = z.object({ p50: z.number(), p95: z.number(), max: z.number() }).nullable();

/** What calls of a function in processes really used, next to what they claim. */
const FUNCTION_USAGE = z
  .object({
    function: z.string(),
    samples: z.int().describe('How many calls were measured; older ones count less.'),
    cpu: FIGURES.describe('Cores.'),
    memory_mb: FIGURES.describe('The peak of each call.'),
    claimed: z
      .object({ cpu: z.number(), memory_mb: z.number(), learned: z.boolean() })
      .nullable()
      .describe(
        'What the last measured call held; "learned" if it did not claim both. null before one ran here.',
      ),
  })
  .openapi('FunctionUsage');

/** How the executions of a function went since the server started. */
const FUNCTION = z
  .object({
    function: z.string(),
    completed: z.int(),
    failed: z.int().describe('After all attempts.'),
    cancelled: z.int(),
    retries: z.int(),
    duration_ms: FIGURES.describe('Of the last attempt of completed ones; null before there is one.'),
  })
  .openapi('FunctionStatistics');

const MEASURED = z
  .object({ cpu: z.number().describe('Cores.'), memory_mb: z.number() })
  .nullable()
  .describe(
    'What the processes that the server started use. Measured while this is asked for every ten seconds; null at first, and where the system does not report it.',
  );

/** What the server has done and does; sampled once a second, the last ten minutes of it. */
export const STATISTICS = z
  .object({
    at: TIME,
    counts: z.record(z.string(), z.int()).describe('Executions of the engine by status.'),
    submitted: z.int(),
    retries: z.int(),
    duration_ms: z.record(z.string(), z.number()).describe('mean, p50, p95, p99, max.'),
    waiting_ms: z.record(z.string(), z.number()),
    use: z
      .array(USE)
      .describe(
        `${['concurrency', ...RESOURCE_TABLE.map(({ wireNeed }) => wireNeed)].join(', ')}, then named resources.`,
      ),
    measured: MEASURED,
    history: z
      .array(z.object({ at: TIME, used: z.array(z.number()), measured: MEASURED }))
      .describe('In the order of "use".'),
    functions: z.array(FUNCTION).describe('The first 200, and the others as "other".'),
    usage: z.array(FUNCTION_USAGE).describe('Functions that ran in processes.'),
    event_loop_delay_ms: z.object({ p50: z.number(), p99: z.number() }),
    subscribers: z.int(),
    mcp_servers: z.array(MCP_SERVER).describe('The servers in the configuration, in that order.'),
  })
  .openapi('Statistics');

export type StatisticsBody = z.output<typeof STATISTICS>;

/** What is measured, without what is asked of others. */
export type MeasuredStatistics = Omit<StatisticsBody, 'mcp_servers'>;
