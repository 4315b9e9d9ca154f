import type { ExecutionStatus } from '../core/status.ts';
import type { ProgressStream } from './event-log.ts';
import type { Outcome } from './outcome.ts';
import type { ExecutionSnapshot } from './progress-log.ts';

/** The result of a cancellation request. */
export interface CancelResult {
  /** Whether this request cancelled the execution; false if it had settled before, or was keeping its result. */
  readonly cancelled: boolean;
  /** The status after the request. */
  readonly status: ExecutionStatus;
}

/** Follows and controls one execution, even after the engine forgot it. */
export interface ExecutionHandle<T = unknown> {
  readonly id: string;
  readonly toolName: string;
  /** The current status. */
  readonly status: ExecutionStatus;
  /**
   * The value that the function returned. Throws what the function threw, or a `VolleyError` that says why there is
   * no value: timeout, deadline, cancelled, skipped.
   */
  wait(): Promise<T>;
  /** Resolves with how it ended. Never throws. */
  outcome(): Promise<Outcome<T>>;
  /**
   * Cancels the execution. A running function sees its signal aborted before this returns. An execution that has
   * settled, or is keeping its result (`keeping()`), is unchanged, and the result says so.
   */
  cancel(reason?: unknown): CancelResult;
  /** Its updates, from the first one still remembered to the one that settles it. */
  progress(): ProgressStream;
  /** Its current status, progress, step, error and times. */
  snapshot(): ExecutionSnapshot;
}
