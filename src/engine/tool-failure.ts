import { MAX_AMOUNT } from '../core/demand.ts';
import type { Failure, FailureReason } from '../core/failure.ts';

/** A global symbol: a tool package may bring its own copy of Volley. */
const BRAND = Symbol.for('volley.tool-failure');

/**
 * An error with which a tool or a runner says why it failed and whether a retry makes sense.
 *
 * ```ts
 * throw new ToolFailure('The key was refused', { retryable: false });
 * ```
 */
export class ToolFailure extends Error {
  readonly reason: FailureReason;
  readonly retryable: boolean;
  /** How much memory the next attempt should get, in megabytes. It is retried only if that fits. */
  readonly memoryMb?: number;
  /**
   * Whether the attempt was lost with its worker.
   *
   * @internal
   */
  readonly isLost: boolean;

  constructor(
    message: string,
    options: {
      reason?: FailureReason;
      retryable?: boolean;
      memoryMb?: number;
      cause?: unknown;
      isLost?: boolean;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    Object.defineProperty(this, BRAND, { value: true });
    this.name = 'ToolFailure';
    this.reason = options.reason ?? 'error';
    this.retryable = options.retryable ?? true;
    if (options.memoryMb !== undefined) this.memoryMb = options.memoryMb;
    this.isLost = options.isLost ?? false;
  }
}

/** Whether it is a ToolFailure, from this copy of Volley or another. */
export function isToolFailure(thrown: unknown): thrown is ToolFailure {
  try {
    return typeof thrown === 'object' && thrown !== null && BRAND in thrown;
  } catch {
    // A revoked proxy.
    return false;
  }
}

/** The failure of an attempt that threw an error. */
export function toFailure(error: unknown): Failure {
  try {
    if (isToolFailure(error)) {
      const { reason, retryable, memoryMb, isLost } = error;
      const isAmount = typeof memoryMb === 'number' && memoryMb > 0 && memoryMb <= MAX_AMOUNT;
      const isPermanent = !retryable;
      return { reason, isPermanent, ...(isAmount && { memoryMb }), ...(isLost && { isLost }), error };
    }
    const isPermanent = (error as { retryable?: unknown } | null)?.retryable === false;
    return { reason: 'error', isPermanent, error };
  } catch {
    // A getter that throws, a revoked proxy.
    return { reason: 'error', isPermanent: false, error };
  }
}
