import type { FailureReason } from '../core/failure.ts';

/**
 * An error with which a tool or a runner says more than "it failed": why, and whether trying again makes sense.
 *
 * ```ts
 * throw new ToolFailure('The key was refused', { retryable: false });
 * ```
 */
export class ToolFailure extends Error {
  readonly reason: FailureReason;
  readonly retryable: boolean;

  constructor(
    message: string,
    options: { reason?: FailureReason; retryable?: boolean; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ToolFailure';
    this.reason = options.reason ?? 'error';
    this.retryable = options.retryable ?? true;
  }
}
