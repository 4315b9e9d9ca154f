import type { ClassQueue } from './class-queue.ts';
import type { DemandClass } from './demand-class.ts';
import type { Execution } from './execution.ts';
import { goesBefore } from './ready-queue.ts';
import type { ResourceAccounts } from './resources.ts';

/** How many classes that are kept out alike are looked at for one that has waited long. */
const MAX_LOOKED_AT = 64;

/** Whether an execution has waited since the given moment or before, and could use the room that is kept for it. */
export function mayReserve(execution: Execution, { limits }: ResourceAccounts, since: number): boolean {
  if (execution.since > since) return false;
  const { needs, group } = execution.demand;
  if (group.isPaused || needs.some((need, index) => need > limits[index]!)) return false;
  return !wouldPass(execution);
}

/**
 * For whom room shall be kept, of those that are kept out alike: the one that was looked at, or the most urgent that may
 * have it where that one may not. Otherwise one that has just come, or that nothing can help, would hide all others.
 */
export function longestWaiting(
  execution: Execution,
  waiters: ClassQueue,
  resources: ResourceAccounts,
  since: number,
): Execution {
  if (!waiters.mayHoldSince(since) || mayReserve(execution, resources, since)) return execution;
  let best: Execution | undefined;
  let looked = 0;
  for (const { head } of waiters) {
    if (++looked > MAX_LOOKED_AT) break;
    const isBetter = best === undefined || goesBefore(head!, best);
    if (isBetter && mayReserve(head!, resources, since)) best = head;
  }
  if (looked <= MAX_LOOKED_AT) waiters.noteWaits();
  return best ?? execution;
}

/** Whether starting one of the class could make one of the other class, for whom room is kept, wait longer. */
export function couldDelay(demand: DemandClass, other: DemandClass, resources: ResourceAccounts): boolean {
  const { used, limits } = resources;
  for (let index = 0; index < demand.needs.length; index++) {
    const own = demand.needs[index]!;
    const kept = other.needs[index]!;
    if (own > 0 && kept > 0 && used[index]! + own + kept > limits[index]!) return true;
  }
  const { tool, group } = demand;
  if (tool === other.tool && (tool.rate !== undefined || tool.running + 2 > tool.maxConcurrency)) return true;
  if (group === other.group && (group.rate !== undefined || group.running + 2 > group.maxConcurrency))
    return true;
  return demand.conflicts.includes(other.tool) || other.conflicts.includes(tool);
}

/** Whether a more urgent one waits for a lock of it: a reservation would pass it, again and again. */
function wouldPass(execution: Execution): boolean {
  if (execution.claims === undefined) return false;
  return execution.claims.some(({ lock }) => {
    const first = lock.first();
    return first !== undefined && goesBefore(first, execution);
  });
}
