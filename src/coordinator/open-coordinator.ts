import type { VolleyConfig } from '../config/config.ts';
import { type LoadOptions, loadConfig } from '../config/load.ts';
import { loadToolModules } from '../tools/modules.ts';
import { ParallelToolCoordinator } from './coordinator.ts';

/**
 * A coordinator as `volley.toml` describes it: the limits and rules of the nearest file, and the tools of the modules
 * that it names.
 */
export async function openCoordinator(options: LoadOptions = {}): Promise<ParallelToolCoordinator> {
  const { config } = await loadConfig(options);
  return createCoordinator(config);
}

/** The same of a configuration that was read already. */
export async function createCoordinator(config: VolleyConfig): Promise<ParallelToolCoordinator> {
  const tools = await loadToolModules(config.tools.modules, config.folder);
  const coordinator = new ParallelToolCoordinator({ config });
  try {
    coordinator.register(...tools);
  } catch (error) {
    await coordinator.close();
    throw error;
  }
  return coordinator;
}
