import type { VolleyConfig } from '../config/config.ts';
import type { ToolEnvironment } from '../tools/builtin/environment.ts';
import type { RunnerSet } from './runner-set.ts';

/** What the built-in tools may touch, by the word of the configuration. */
export function environmentOf(
  config: VolleyConfig,
  runners: Pick<RunnerSet, 'launcher' | 'confinement' | 'guard' | 'protection'>,
): ToolEnvironment {
  const { tools, files, http, processes } = config;
  const { network, ...shell } = config.shell;
  return {
    roots: tools.roots,
    protection: runners.protection,
    files,
    http,
    shell: {
      ...shell,
      limits: processes.limits,
      sandbox: {
        mode: processes.sandbox,
        read: tools.roots,
        write: tools.roots,
        network,
        guard: runners.guard,
      },
      launcher: () => runners.launcher,
      confinement: () => runners.confinement,
    },
  };
}
