import type { VolleyConfig } from '../config/config.ts';
import type { Launcher } from '../runners/process/launcher.ts';
import type { ToolEnvironment } from '../tools/builtin/environment.ts';

/** What the built-in tools may touch, by the word of the configuration. */
export function environmentOf(config: VolleyConfig, launcher: () => Launcher): ToolEnvironment {
  const { tools, files, http, shell, processes } = config;
  return {
    roots: tools.roots,
    files,
    http,
    shell: {
      ...shell,
      limits: processes.limits,
      sandbox: { mode: processes.sandbox, read: tools.roots, write: tools.roots, network: true },
      launcher,
    },
  };
}
