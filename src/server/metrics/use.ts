import type { ResourceName } from '../../core/demand.ts';
import { RESOURCE_TABLE } from '../../core/resource-table.ts';
import type { ParallelExecutionEngine } from '../../engine/engine.ts';
import type { StatisticsBody } from '../wire/machine.ts';

/** Resources by the names that leave the server, in their order. */
const NAMES: readonly (readonly [ResourceName, string])[] = [
  ['concurrency', 'concurrency'],
  ...RESOURCE_TABLE.map(({ name, wireNeed }) => [name, wireNeed] as const),
];

/** How much of each resource is in use, and how much there is. */
export function useOf(engine: ParallelExecutionEngine): StatisticsBody['use'] {
  const { utilization } = engine.statistics();
  return NAMES.map(([resource, name]) => {
    const { used, limit } = utilization[resource];
    return { name, used, limit: Number.isFinite(limit) ? limit : null };
  });
}
