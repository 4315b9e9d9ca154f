const ROUNDS = 40;
const LONGEST_MS = 2000;

/** Runs something small again and again, until the compiler has most likely done with it what it will do. */
export async function warmUp(run: () => Promise<unknown>): Promise<void> {
  const start = performance.now();
  for (let round = 0; round < ROUNDS && performance.now() - start < LONGEST_MS; round++) await run();
}
