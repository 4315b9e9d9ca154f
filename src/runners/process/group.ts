import { setTimeout } from 'node:timers/promises';

/** How long to wait for a killed group. What hangs in the kernel longer than that cannot be waited for. */
const LINGER_MS = 500;
const LOOK_MS = 5;

/** Signals a process group. False if nothing of it is left. */
export function signalGroup(pid: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(-pid, signal);
    return true;
  } catch (error) {
    // EPERM: it is there, but has become another user's.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Kills a process group, and waits until nothing of it is left. */
export async function endGroup(pid: number): Promise<void> {
  const deadline = performance.now() + LINGER_MS;
  while (signalGroup(pid, 'SIGKILL') && performance.now() < deadline) await setTimeout(LOOK_MS);
}
