import type { SharedLimits } from './catalog.ts';
import type { CountableLimits } from './resources.ts';

/** The limits within which the scheduler starts executions. Omitted limits stay unchanged. */
export interface SchedulerLimits extends CountableLimits {
  readonly tools?: Readonly<Record<string, SharedLimits>>;
  readonly groups?: Readonly<Record<string, SharedLimits>>;
}

/** Options of a scheduler; all have defaults. */
export interface SchedulerOptions {
  readonly limits?: SchedulerLimits;
  /** The allowance between two priorities: how fast waiting makes up for a lower one. Default 30000. */
  readonly ageingMs?: number;
  /** How long an execution that does not fit waits before resources are reserved for it. Default 5000. */
  readonly reserveAfterMs?: number;
  /** How long an attempt may keep its resources after it was told to stop. Default 5000. */
  readonly graceMs?: number;
  /** How many settled executions can still be found by their id. Default 1000. */
  readonly retainSettled?: number;
  /** The seed of retry jitter. Default 1. */
  readonly seed?: number;
  /** Whether starts are planned ahead where durations are known and that is faster. Default auto. */
  readonly plan?: 'auto' | 'off';
}
