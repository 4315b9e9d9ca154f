import type { SharedLimits } from './catalog.ts';
import type { ResourceLimits } from './resource-table.ts';

/** The limits within which the scheduler starts executions; what is left out stays as it is. */
export interface SchedulerLimits extends ResourceLimits {
  /** How many executions may run at once. */
  readonly concurrency?: number;
  readonly tools?: Readonly<Record<string, SharedLimits>>;
  readonly groups?: Readonly<Record<string, SharedLimits>>;
}

/** How a scheduler behaves; all of it has a default. */
export interface SchedulerOptions {
  readonly limits?: SchedulerLimits;
  /** The allowance between two priorities, and so how fast waiting makes up for a lower one. Default 30000. */
  readonly ageingMs?: number;
  /** After what time of waiting room is kept for one that does not fit. Default 5000. */
  readonly reserveAfterMs?: number;
  /** How long an attempt that was told to stop may keep its room. Default 5000. */
  readonly graceMs?: number;
  /** How many settled executions can still be found by their id. Default 1000. */
  readonly retainSettled?: number;
  /** Decides the jitter of retries. Default 1. */
  readonly seed?: number;
}
