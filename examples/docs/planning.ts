// #region plan
import { type SimulatedExecution, simulate } from 'volley';

const work = (
  id: string,
  estimatedMs: number,
  cpu: number,
  dependsOn: string[] = [],
): SimulatedExecution => ({
  id,
  toolName: id,
  durationMs: estimatedMs,
  estimatedMs,
  resources: { cpu },
  dependsOn,
});
const executions = [
  work('fetch', 1000, 1),
  work('index', 5000, 2, ['fetch']),
  work('lint', 4000, 1), // Fits beside `fetch`, but then `index` would have to wait for it.
  work('report', 4000, 1, ['index']),
];

for (const plan of ['off', 'auto'] as const) {
  const { makespanMs } = simulate(executions, { concurrency: 4, cpu: 2 }, { plan });
  console.log(`plan ${plan}: ${makespanMs} ms`);
}
// #endregion plan
