import { availableParallelism, totalmem } from 'node:os';
import type { SimulatedExecution } from '../../dist/index.js';
import { PRIORITIES, randomLevels } from '../work/priorities.ts';
import { seededRandom } from '../work/random.ts';

const TOOLS = 20;
const DEPENDENCIES = 3;
/** One in so many fails once and is tried again. */
const FAILING = 50;
const SCALE = 1000;

/** A thousand times what an engine on this machine has when nothing is said. */
export const LIMITS = {
  concurrency: 64 * SCALE,
  cpu: availableParallelism() * SCALE,
  memoryMb: Math.floor(totalmem() / 2 ** 20) * SCALE,
  ioOperations: 64 * SCALE,
  networkOperations: 64 * SCALE,
};

/** Executions of 10 ms to 1 s with everything on, each on its own or each behind random earlier ones. */
export function makeExecutions(count: number, hasDependencies: boolean): SimulatedExecution[] {
  const random = seededRandom(3);
  const levels = randomLevels(count);
  const ids = Array.from({ length: count }, (_, index) => `execution-${index}`);
  // Written out, because objects made by spreading have a shape of their own each.
  return ids.map((id, index) => ({
    id,
    toolName: `tool-${index % TOOLS}`,
    priority: PRIORITIES[levels[index]!]!,
    resources: { cpu: 0.5, memoryMb: 100 },
    timeoutMs: 30_000,
    retry: { maxRetries: 3 },
    durationMs: 10 + Math.floor(random() * 990),
    failures: index % FAILING === 0 ? 1 : 0,
    dependsOn: hasDependencies ? earlier(ids, index, random) : [],
  }));
}

function earlier(ids: readonly string[], index: number, random: () => number): string[] {
  const chosen = new Set<string>();
  while (chosen.size < Math.min(DEPENDENCIES, index)) chosen.add(ids[Math.floor(random() * index)]!);
  return [...chosen];
}
