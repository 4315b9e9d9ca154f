import { Execution } from './execution.ts';
import type { Scheduler } from './scheduler.ts';
import { isSettled } from './status.ts';
import {
  type Census,
  checkClasses,
  checkCounts,
  checkGroups,
  checkTools,
  checkUse,
} from './validation/accounts.ts';
import { checkLocks } from './validation/locks.ts';
import { checkDependencies, checkIds, checkStanding } from './validation/standing.ts';
import { checkTimers } from './validation/timers.ts';
import { checkQueues, checkReservation } from './validation/waiting.ts';

export interface ValidateOptions {
  /** Lowering a limit takes nothing away from what runs, so more may be in use than the limits allow now. */
  readonly limitsWereLowered?: boolean;
}

/**
 * Recomputes from scratch everything that the scheduler keeps as it goes, and throws an error that names the first
 * invariant that does not hold. It looks at everything there is, between any two events: it is made for tests.
 */
export function validate(scheduler: Scheduler, { limitsWereLowered = false }: ValidateOptions = {}): void {
  const all = everyExecution(scheduler);
  const census: Census = {
    all,
    unsettled: all.filter((execution) => !isSettled(execution.state)),
    holding: all.filter((execution) => execution.room === 'held'),
    limitsWereLowered,
  };
  for (const execution of all) {
    checkStanding(execution);
    checkDependencies(execution);
  }
  checkIds(scheduler);
  checkUse(scheduler, census);
  checkTools(scheduler, census);
  checkClasses(census);
  checkGroups(scheduler, census);
  checkCounts(scheduler.lifecycle.counts, census.unsettled, 'of all');
  checkQueues(scheduler, census);
  checkLocks(scheduler, census);
  checkReservation(scheduler);
  checkTimers(scheduler, census);
}

/** What is unsettled or remembered, and what was forgotten while a stopped attempt of it is still there. */
function everyExecution({ graph, timers, dispatcher }: Scheduler): Execution[] {
  const found = new Set<Execution>(graph);
  for (const timed of timers) if (timed instanceof Execution) found.add(timed);
  for (const execution of [...dispatcher.holders, ...dispatcher.resuming]) found.add(execution);
  return [...found];
}
