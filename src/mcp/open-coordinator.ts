import type { VolleyConfig } from '../config/config.ts';
import type { EnvironmentVariables } from '../config/environment.ts';
import { type LoadOptions, loadConfig } from '../config/load.ts';
import { trustText } from '../config/trust.ts';
import type { ParallelToolCoordinator } from '../coordinator/coordinator.ts';
import { createCoordinator } from '../coordinator/coordinator.ts';
import { ASK_AGENT, ASK_MODEL } from '../core/ask-tools.ts';
import type { ToolDescription, WithheldTool } from '../tools/registry.ts';
import type { McpServerHealth } from './client/server-link.ts';

/**
 * A coordinator as `volley.toml` describes it: the limits and rules of the nearest file, the tools of the modules that it
 * names, and those of its MCP servers, which are started when they are needed.
 */
export async function openCoordinator(options: LoadOptions = {}): Promise<ParallelToolCoordinator> {
  const { config } = await loadConfig(options);
  return createFullCoordinator(config, options.env);
}

/** The same of a configuration that was read already. */
export async function createFullCoordinator(
  config: VolleyConfig,
  env?: EnvironmentVariables,
): Promise<ParallelToolCoordinator> {
  const coordinator = await createCoordinator(config);
  const hasModels = Object.keys(config.models).length > 0;
  if (config.askAgent.enabled || hasModels) {
    const { askTools } = await import('../agents/ask/ask-tools.ts');
    coordinator.register(askTools(config, env));
  }
  if (hasModels) {
    const { modelKeys } = await import('../agents/ask/ask-model.ts');
    for (const [index, key] of modelKeys(config.models, env ?? process.env).entries())
      coordinator.redactor.add(`model ${index}`, key);
  }
  if (!config.askAgent.enabled)
    coordinator.explainAbsence(ASK_AGENT, 'it is off until tools.ask_agent.enabled is true');
  if (!hasModels) coordinator.explainAbsence(ASK_MODEL, 'it needs a model in [models.NAME] of volley.toml');
  // Most configurations name none, and then nothing of MCP is loaded.
  if (Object.keys(config.mcp.servers).length > 0) {
    const { attachMcpServers } = await import('./client/attach.ts');
    attachMcpServers(coordinator, config, env);
  }
  return coordinator;
}

/** How long to wait for servers to list their tools. After that the tools of the others are listed. */
const MAX_DISCOVERY_MS = 5000;

/** What can be called, and what may be missing from it. */
export interface DiscoveredTools {
  readonly tools: readonly ToolDescription[];
  /** The names of all servers. */
  readonly servers: ReadonlySet<string>;
  /** The servers that have not listed their tools. */
  readonly missing: readonly McpServerHealth[];
  /** Tools that exist but cannot be called, with the reason. */
  readonly withheld: readonly WithheldTool[];
  /** Which settings that could bring more of them wait for trust. */
  readonly waiting: string | undefined;
}

/**
 * All that can be called, with the tools of servers, which are started for it: all of them, or those that have tools of these
 * names.
 */
export async function discoveredTools(
  coordinator: ParallelToolCoordinator,
  names?: readonly string[],
): Promise<DiscoveredTools> {
  if (names === undefined) await coordinator.discover('*', MAX_DISCOVERY_MS);
  else await coordinator.planner.discover(names, MAX_DISCOVERY_MS);
  const { mcpHealth } = await import('./client/attach.ts');
  const health = mcpHealth(coordinator);
  const missing = health.filter(({ status }) => status !== 'ready' && status !== 'idle');
  const { trust } = coordinator;
  const waiting = trust.waiting.filter((setting) => /^(tools|mcp)\./.test(setting));
  return {
    tools: coordinator.tools(),
    servers: new Set(health.map(({ name }) => name)),
    missing,
    withheld: coordinator.withheld(),
    waiting: waiting.length === 0 ? undefined : trustText(trust, waiting),
  };
}
