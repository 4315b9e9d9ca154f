import type { Execution } from './execution.ts';
import type { Failure } from './failure.ts';

/**
 * The commands and notifications of the scheduler. They are called in the middle of a change: an implementation may
 * take notes but must not call the scheduler.
 */
export interface Effects {
  /** Run attempt number `execution.attempt`. */
  start(execution: Execution): void;
  /** Stop the current attempt, which is over for the scheduler, and report when it is gone. */
  stop(execution: Execution): void;
  /** An attempt failed and another will follow at `execution.retryAt`. */
  retrying(execution: Execution, failure: Failure, now: number): void;
  /** The execution reached a final status. */
  settled(execution: Execution): void;
  /** The resources of an attempt are free again. */
  released(execution: Execution, now: number): void;
  /** A stopped attempt did not end within its grace period, and its resources were released anyway. */
  abandoned(execution: Execution, now: number): void;
  /** An execution has its lent resources back. */
  resumed(execution: Execution): void;
}
