import type { Execution } from './execution.ts';
import type { Failure } from './failure.ts';

/**
 * What the scheduler tells the shell to do or to know. It is called in the middle of a change: an effect may take
 * notes, but must not call the scheduler.
 */
export interface Effects {
  /** Run attempt number `execution.attempt`. */
  start(execution: Execution): void;
  /** The current attempt is over in the eyes of the scheduler: make it stop, and report when it is gone. */
  stop(execution: Execution): void;
  /** An attempt failed and another will follow at `execution.retryAt`. */
  retrying(execution: Execution, failure: Failure, now: number): void;
  /** The status is final. */
  settled(execution: Execution): void;
  /** The room of an attempt is free again. */
  released(execution: Execution, now: number): void;
  /** A stopped attempt did not end in its grace period; its room was given to others all the same. */
  abandoned(execution: Execution, now: number): void;
  /** One that had lent its room has it back. */
  resumed(execution: Execution): void;
}
