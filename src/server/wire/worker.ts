import { z } from '@hono/zod-openapi';
import type { WorkerStatus } from '../../coordinator/remote-runner.ts';
import { RESOURCE_TABLE } from '../../core/resource-table.ts';

/** The most calls of a worker that are listed. */
const MAX_CALLS = 200;

/** The names of built-in resources outside of the server. */
export const WIRE_NAMES: ReadonlyMap<string, string> = new Map(
  RESOURCE_TABLE.map(({ name, wireNeed }) => [name, wireNeed]),
);

const WORKER = z
  .object({
    name: z.string(),
    state: z
      .enum(['joining', 'ready', 'draining', 'lost'])
      .describe(
        '"joining" until nothing of earlier work is left on it; "lost" until its calls are given up.',
      ),
    host: z.string(),
    pid: z.int(),
    version: z.string().describe('Of Volley.'),
    labels: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
    agents: z.array(z.string()).describe('The coding agents that it runs.'),
    repositories: z.array(z.string()).describe('The repositories of which it has clones, by name.'),
    tools: z.int().describe('How many tools it offers.'),
    last_heard_ms: z.number(),
    use: z
      .array(z.object({ name: z.string(), used: z.number(), limit: z.number() }))
      .describe(
        'What is placed on it, and what it offers. "used" is more than "limit" if calls wait there, up to "spare".',
      ),
    spare: z.int().describe('How many calls it may have waiting for room.'),
    running: z.int(),
    calls: z
      .array(z.object({ id: z.string().describe('Of the execution.'), function: z.string() }))
      .describe(`The first ${MAX_CALLS}.`),
    ended: z.record(z.string(), z.int()).describe('Calls that ended on it: completed, failed, cancelled.'),
  })
  .openapi('Worker');

/** The workers of the cluster that this server coordinates. */
export const WORKERS = z
  .object({
    configured: z.boolean().describe('Whether calls are placed on workers; if not, they run in the server.'),
    workers: z.array(WORKER),
  })
  .openapi('Workers');

export type WorkersBody = z.output<typeof WORKERS>;

export function workerBody({
  lastHeardMs,
  use,
  calls,
  ended,
  labels,
  agents,
  ...rest
}: WorkerStatus): WorkersBody['workers'][number] {
  return {
    ...rest,
    labels: { ...labels },
    agents: [...agents.names],
    repositories: agents.repositories.map(({ name }) => name),
    last_heard_ms: Math.round(lastHeardMs),
    use: use.map(({ name, used, limit }) => ({ name: WIRE_NAMES.get(name) ?? name, used, limit })),
    running: calls.length,
    calls: calls.slice(0, MAX_CALLS).map(({ id, toolName }) => ({ id, function: toolName })),
    ended: { ...ended },
  };
}
