import type { VolleyConfig } from '../../config/config.ts';
import type { ParallelToolCoordinator } from '../../coordinator/coordinator.ts';
import { createCoordinator } from '../../coordinator/open-coordinator.ts';
import type { ToolDescription } from '../../tools/registry.ts';
import type { McpServerHealth } from './health.ts';
import type { Environment } from './references.ts';
import { ServerSource } from './server-source.ts';

const attached = new WeakMap<ParallelToolCoordinator, readonly ServerSource[]>();

/**
 * Adds the servers of `[mcp.servers]` to a coordinator: their tools can be called as `server.tool`. None is started
 * before one of its tools is needed, and all end with the coordinator.
 */
function attachMcpServers(
  coordinator: ParallelToolCoordinator,
  { mcp }: VolleyConfig,
  env: Environment = process.env,
): void {
  const sources = Object.entries(mcp.servers).map(
    ([name, settings]) => new ServerSource(name, settings, coordinator, env),
  );
  for (const source of sources) coordinator.addSource(source);
  attached.set(coordinator, sources);
}

/** How the MCP servers of a coordinator are, in the order of the configuration. */
export function mcpHealth(coordinator: ParallelToolCoordinator): McpServerHealth[] {
  return (attached.get(coordinator) ?? []).map((source) => source.health());
}

/** How long servers may take to tell of their tools, before those of the others are listed without them. */
const LONGEST_DISCOVERY_MS = 5000;

/** All that can be called, with the tools of servers, which are started for it. */
export async function discoveredTools(coordinator: ParallelToolCoordinator): Promise<ToolDescription[]> {
  await coordinator.discover('*', LONGEST_DISCOVERY_MS);
  return coordinator.tools();
}

/** A coordinator with everything that a configuration names: limits, modules and MCP servers. */
export async function createFullCoordinator(
  config: VolleyConfig,
  env?: Environment,
): Promise<ParallelToolCoordinator> {
  const coordinator = await createCoordinator(config);
  attachMcpServers(coordinator, config, env);
  return coordinator;
}
