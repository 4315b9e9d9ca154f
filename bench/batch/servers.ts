import { spawnSync } from 'node:child_process';

/** Whether a peer's server is installed here. */
export function hasPrograms(...names: readonly string[]): boolean {
  return names.every((name) => spawnSync(name, ['--version'], { stdio: 'ignore' }).status === 0);
}
