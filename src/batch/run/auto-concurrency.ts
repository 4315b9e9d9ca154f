import { availableParallelism } from 'node:os';
import type { PlannedCall } from '../../coordinator/plan.ts';

/** What a task spends most of its time on. */
type WorkKind = 'cpu' | 'io' | 'remote';

/** The concurrency for each kind. */
export const CONCURRENCY_BY_KIND: Readonly<Record<WorkKind, number>> = {
  cpu: availableParallelism(),
  io: 16,
  remote: 8,
};

/** A task that needs at least this share of a core is CPU-bound. */
const CPU_BOUND = 0.5;

/** With workers, whose own limits decide how much they run. */
export const MAX_CONCURRENT = 10_000;

/**
 * Chooses the concurrency for `max_concurrent: "auto"`: one per core for CPU-bound tasks (half a core or more), 8 for
 * tasks that use the network, so that remote services are not flooded, and 16 for others. Mixed tasks get the mean. The
 * workers of a cluster limit themselves, so there only tasks that all use the network are limited.
 */
export function autoConcurrency(calls: readonly PlannedCall[], hasWorkers = false): number {
  let sum = 0;
  let count = 0;
  for (const call of calls) {
    if (call.kind === 'refused') continue;
    const { cpu = 0, network = false } = call.needs ?? {};
    sum += CONCURRENCY_BY_KIND[cpu >= CPU_BOUND ? 'cpu' : network ? 'remote' : 'io'];
    count++;
  }
  if (hasWorkers && sum !== count * CONCURRENCY_BY_KIND.remote) return MAX_CONCURRENT;
  return count === 0 ? CONCURRENCY_BY_KIND.io : Math.max(1, Math.round(sum / count));
}
