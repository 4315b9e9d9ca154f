import type { VolleyConfig } from '../config/config.ts';
import { requireUnchanged } from '../config/trust.ts';
import { withCode } from '../tools/define-tool.ts';
import { loadToolModules } from '../tools/modules.ts';
import type { Tool } from '../tools/tool.ts';
import { ParallelToolCoordinator } from './coordinator.ts';

/** A coordinator with the limits and rules of a configuration, and the tools of the modules that it names. */
export async function createCoordinator(config: VolleyConfig): Promise<ParallelToolCoordinator> {
  requireUnchanged(config.trust);
  const tools = await loadToolModules(config.tools.modules, config.folder);
  // What was loaded must be what was approved.
  requireUnchanged(config.trust);
  const coordinator = new ParallelToolCoordinator({ config });
  try {
    coordinator.register(...tools.map((tool) => guarded(tool, config)));
  } catch (error) {
    await coordinator.close();
    throw error;
  }
  return coordinator;
}

/** A tool that runs inside Volley may load further files only when it is called. */
function guarded(tool: Tool, { trust }: VolleyConfig): Tool {
  const { code } = tool;
  if (code.kind !== 'function' || trust.files.size === 0) return tool;
  return withCode(tool, {
    kind: 'function',
    run: (...call) => {
      requireUnchanged(trust);
      return code.run(...call);
    },
  });
}
