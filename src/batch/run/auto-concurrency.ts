import { availableParallelism } from 'node:os';
import type { PlannedCall } from '../../coordinator/plan.ts';

/** What a task spends most of its time on. */
type WorkKind = 'cpu' | 'io' | 'remote';

/** How many of a kind are worth running at once. */
export const CONCURRENCY_BY_KIND: Readonly<Record<WorkKind, number>> = {
  cpu: availableParallelism(),
  io: 16,
  remote: 8,
};

/** A task that needs at least this share of a core counts as computing. */
const COMPUTING = 0.5;

/**
 * `max_concurrent: "auto"`. Tasks that use half a core or more compute: one for each core. Tasks that use the network
 * wait for a remote side, which should not be flooded: 8. The others read and write: 16. A mixture gets the mean.
 */
export function autoConcurrency(calls: readonly PlannedCall[]): number {
  let sum = 0;
  let count = 0;
  for (const call of calls) {
    if (call.kind === 'refused') continue;
    const { cpu = 0, network = false } = call.needs ?? {};
    sum += CONCURRENCY_BY_KIND[cpu >= COMPUTING ? 'cpu' : network ? 'remote' : 'io'];
    count++;
  }
  return count === 0 ? CONCURRENCY_BY_KIND.io : Math.max(1, Math.round(sum / count));
}
