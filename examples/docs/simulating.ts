// #region simulate
import { type SimulatedExecution, simulate } from 'volley';

const pages: SimulatedExecution[] = Array.from({ length: 6 }, (_, index) => ({
  id: `fetch-${index}`,
  toolName: 'fetch',
  durationMs: 400 + 100 * index,
  ...(index === 2 && { failures: 1, retry: { maxRetries: 1, delayMs: 500, jitter: 0 } }),
}));
const report: SimulatedExecution = {
  toolName: 'report',
  dependsOn: pages.map(({ id }) => id as string),
  durationMs: 300,
};

for (const concurrency of [1, 2, 4, 8]) {
  const { makespanMs, utilization } = simulate([...pages, report], { concurrency }, { seed: 1 });
  const busy = utilization.concurrency.meanUsed / concurrency;
  console.log(`${concurrency} at once: ${makespanMs} ms, ${Math.round(busy * 100)} % busy`);
}
// #endregion simulate
