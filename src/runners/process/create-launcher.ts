import { HelperLauncher } from './helper-launcher.ts';
import type { Launcher } from './launcher.ts';
import { SpawnLauncher } from './spawn-launcher.ts';

/** The fastest launcher that works here. Nothing is started before `prepare()` or the first launch. */
export function createLauncher(): Launcher {
  return new HelperLauncher(new SpawnLauncher());
}
