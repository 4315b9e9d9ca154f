import type { VolleyConfig } from '../config/config.ts';
import { requireUnchanged } from '../config/trust.ts';
import { loadToolModules } from '../tools/modules.ts';
import { ParallelToolCoordinator } from './coordinator.ts';

/** A coordinator with the limits and rules of a configuration, and the tools of the modules that it names. */
export async function createCoordinator(config: VolleyConfig): Promise<ParallelToolCoordinator> {
  requireUnchanged(config.trust);
  const tools = await loadToolModules(config.tools.modules, config.folder);
  // What was loaded must be what was approved.
  requireUnchanged(config.trust);
  const coordinator = new ParallelToolCoordinator({ config });
  try {
    coordinator.register(...tools);
  } catch (error) {
    await coordinator.close();
    throw error;
  }
  return coordinator;
}
