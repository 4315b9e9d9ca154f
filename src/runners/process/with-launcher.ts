import { createLauncher } from './create-launcher.ts';
import type { Launcher } from './launcher.ts';

/** Something to run commands with, made when it is needed and closed afterwards. */
export async function withLauncher<T>(work: (launcher: () => Launcher) => Promise<T>): Promise<T> {
  let launcher: Launcher | undefined;
  try {
    return await work(() => {
      launcher ??= createLauncher();
      return launcher;
    });
  } finally {
    await launcher?.close();
  }
}
