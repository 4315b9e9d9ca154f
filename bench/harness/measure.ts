/** How long something takes, with a heap that holds no garbage of what was before. */
export async function timeMs(run: () => Promise<unknown>): Promise<number> {
  collectGarbage();
  const start = performance.now();
  await run();
  return performance.now() - start;
}

/** Two collections: the first one may leave what only finalizers held. */
export function collectGarbage(): void {
  if (globalThis.gc === undefined) throw new Error('The benchmarks need node --expose-gc.');
  globalThis.gc();
  globalThis.gc();
}
