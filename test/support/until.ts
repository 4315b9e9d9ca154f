import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until a condition holds. `what` says in the error what did not happen. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what = condition.toString(),
  limitMs = 120_000,
): Promise<void> {
  const deadline = performance.now() + limitMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`Waited in vain for ${what}.`);
    await sleep(5);
  }
}
