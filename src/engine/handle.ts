import type { ExecutionStatus } from '../core/status.ts';
import type { ProgressStream } from './event-log.ts';
import type { Outcome } from './outcome.ts';
import type { ExecutionSnapshot } from './progress-log.ts';

/** The answer to a request to cancel. */
export interface CancelResult {
  /** Whether this request cancelled the execution; false if it had settled before, or was keeping its result. */
  readonly cancelled: boolean;
  /** The status after the request. */
  readonly status: ExecutionStatus;
}

/** Follows and controls one execution, also after it was forgotten by the engine. */
export interface ExecutionHandle<T = unknown> {
  readonly id: string;
  readonly toolName: string;
  /** The status at this moment. */
  readonly status: ExecutionStatus;
  /**
   * The value that the function returned. Throws what the function threw, or a `VolleyError` that says why there is
   * no value: timeout, deadline, cancelled, skipped.
   */
  wait(): Promise<T>;
  /** Resolves with how it ended. Never throws. */
  outcome(): Promise<Outcome<T>>;
  /**
   * Cancels it. A running function sees its signal aborted before this returns. An execution that has settled, or is
   * keeping its result (`keeping()`), stays as it is, and the answer says so.
   */
  cancel(reason?: unknown): CancelResult;
  /** Its updates, from the first that is still remembered to the one that settles it. */
  progress(): ProgressStream;
  /** Its status, progress, step, error and times at this moment. */
  snapshot(): ExecutionSnapshot;
}
