import type { VolleyConfig } from '../../config/config.ts';
import type { EnvironmentVariables } from '../../config/environment.ts';
import type { ParallelToolCoordinator } from '../../coordinator/coordinator.ts';
import type { WithheldTool } from '../../tools/registry.ts';
import type { McpServerHealth } from './server-link.ts';
import { ServerSource } from './server-source.ts';

const attached = new WeakMap<ParallelToolCoordinator, readonly ServerSource[]>();

/**
 * Adds the servers of `[mcp.servers]` to a coordinator: their tools can be called as `server.tool`. None is started
 * before one of its tools is needed, and all end with the coordinator.
 */
export function attachMcpServers(
  coordinator: ParallelToolCoordinator,
  config: VolleyConfig,
  env: EnvironmentVariables = process.env,
): void {
  const sources = Object.entries(config.mcp.servers).map(
    ([name, settings]) => new ServerSource(name, settings, coordinator, env, config),
  );
  for (const source of sources) coordinator.addSource(source);
  attached.set(coordinator, sources);
}

/** How the MCP servers of a coordinator are, in the order of the configuration. */
export function mcpHealth(coordinator: ParallelToolCoordinator): McpServerHealth[] {
  return (attached.get(coordinator) ?? []).map((source) => source.health());
}

/** The tools of these servers that cannot be called, with the reason. */
export function withheldTools(coordinator: ParallelToolCoordinator): WithheldTool[] {
  return (attached.get(coordinator) ?? []).flatMap((source) => source.withheld());
}

/** What the user should know of how the servers are configured, by the name of the server. */
export function serverHints(coordinator: ParallelToolCoordinator): ReadonlyMap<string, string> {
  const hints = new Map<string, string>();
  for (const source of attached.get(coordinator) ?? []) {
    const hint = source.hint();
    if (hint !== undefined) hints.set(source.name, hint);
  }
  return hints;
}
