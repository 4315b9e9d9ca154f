import type { VolleyConfig } from '../config/config.ts';
import { ProtectedPaths } from '../config/protected-paths.ts';
import type { ToolEnvironment } from '../tools/builtin/environment.ts';
import type { RunnerSet } from './runner-set.ts';

/** What the built-in tools may touch, by the word of the configuration. */
export function environmentOf(
  config: VolleyConfig,
  runners: Pick<RunnerSet, 'launcher' | 'confinement'>,
): ToolEnvironment {
  const { tools, files, http, processes } = config;
  const { network, ...shell } = config.shell;
  return {
    roots: tools.roots,
    protection: new ProtectedPaths(config),
    files,
    http,
    shell: {
      ...shell,
      limits: processes.limits,
      sandbox: { mode: processes.sandbox, read: tools.roots, write: tools.roots, network },
      launcher: () => runners.launcher,
      confinement: () => runners.confinement,
    },
  };
}
