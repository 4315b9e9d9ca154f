import { availableParallelism } from 'node:os';
import type { ReadyCall } from '../../coordinator/plan.ts';

/** What mostly keeps a task busy. */
type WorkKind = 'cpu' | 'io' | 'remote';

/** How many of a kind are worth running at once. */
export const CONCURRENCY_BY_KIND: Readonly<Record<WorkKind, number>> = {
  cpu: availableParallelism(),
  io: 16,
  remote: 8,
};

/** From this share of a core on, a task counts as computing. */
const COMPUTING = 0.5;

/**
 * `max_concurrent: "auto"`: as many at once as suits the work. Tasks that use half a core or more compute: one for each
 * core. Of the others, those that use the network wait for a remote side, which should not be flooded: 8. The rest read
 * and write: 16. A mixture gets the mean, by how many there are of each.
 */
export function autoConcurrency(tasks: readonly { readonly ready: ReadyCall }[]): number {
  if (tasks.length === 0) return CONCURRENCY_BY_KIND.io;
  let sum = 0;
  for (const task of tasks) sum += CONCURRENCY_BY_KIND[kindOf(task)];
  return Math.max(1, Math.round(sum / tasks.length));
}

function kindOf({ ready }: { readonly ready: ReadyCall }): WorkKind {
  const { cpu = 0, network = false } = ready.needs ?? {};
  if (cpu >= COMPUTING) return 'cpu';
  return network ? 'remote' : 'io';
}
