import { setTimeout as sleep } from 'node:timers/promises';

const LONGEST_MS = 30_000;

/** Tries to reach a server that was just started, until it answers. */
export async function untilReady<T>(reach: () => Promise<T>): Promise<T> {
  for (const start = performance.now(); ; await sleep(50)) {
    try {
      return await reach();
    } catch (error) {
      if (performance.now() - start > LONGEST_MS) throw error;
    }
  }
}
