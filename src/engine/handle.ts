import type { ExecutionStatus } from '../core/status.ts';
import type { Outcome } from './outcome.ts';
import type { ExecutionSnapshot } from './progress-log.ts';
import type { ProgressStream } from './subscription.ts';

/** What became of a request to cancel. */
export interface CancelResult {
  /** Whether this request cancelled the execution; false if it had settled before, or was keeping its result. */
  readonly cancelled: boolean;
  /** The status after the request. */
  readonly status: ExecutionStatus;
}

/** Follows and controls one execution. It answers for as long as you hold it. */
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
  /** How it ended. Never throws. */
  outcome(): Promise<Outcome<T>>;
  /**
   * Ends it, whatever it does. A running function sees its signal aborted before this returns. What has settled, or has
   * said that it keeps its result (`keeping()`), stays as it is, and the answer says so.
   */
  cancel(reason?: unknown): CancelResult;
  /** All its updates, from the first that is still remembered to the one that settles it. */
  progress(): ProgressStream;
  /** How far it has come, at this moment. */
  snapshot(): ExecutionSnapshot;
}
