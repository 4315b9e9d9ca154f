import type { ResourceName } from '../../core/demand.ts';
import type { ParallelExecutionEngine } from '../../engine/engine.ts';
import type { StatisticsBody } from '../wire/statistics.ts';

/** Resources by the names that leave the server, in their order. */
const NAMES: Readonly<Record<ResourceName, string>> = {
  concurrency: 'concurrency',
  cpu: 'cpu',
  memoryMb: 'memory_mb',
  ioOperations: 'io',
  networkOperations: 'network',
};

/** How much of each resource is in use, and how much there is. */
export function useOf(engine: ParallelExecutionEngine): StatisticsBody['use'] {
  const { utilization } = engine.statistics();
  return Object.entries(NAMES).map(([resource, name]) => {
    const { used, limit } = utilization[resource as ResourceName];
    return { name, used, limit: Number.isFinite(limit) ? limit : null };
  });
}
