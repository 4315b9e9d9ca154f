import { KnownFields } from './check-known.ts';
import { VolleyError } from './errors.ts';
import { checkNumber, MAX_SPAN_MS, show } from './numbers.ts';
import type { Random } from './random.ts';

/** When and how often a failed attempt is retried. */
export interface RetryOptions {
  /** How many further attempts may follow the first: 3 means up to 4 attempts. Default 0. */
  readonly maxRetries?: number;
  /** The pause before the first retry. Default 1000. */
  readonly delayMs?: number;
  /** The factor by which each pause grows. Default 2. */
  readonly factor?: number;
  /** The maximum pause. Default 30000. */
  readonly maxDelayMs?: number;
  /** The random share of each pause, 0 to 1, so that many failures do not retry at once. Default 0.5. */
  readonly jitter?: number;
}

export interface RetryPolicy {
  readonly maxRetries: number;
  readonly delayMs: number;
  readonly factor: number;
  readonly maxDelayMs: number;
  readonly jitter: number;
}

const DEFAULTS: RetryPolicy = { maxRetries: 0, delayMs: 1000, factor: 2, maxDelayMs: 30_000, jitter: 0.5 };

const knownFields = new KnownFields('field of retry', new Set(Object.keys(DEFAULTS)));

/** Policies with all defaults but `maxRetries`, shared between executions, since most set nothing else. */
const plainPolicies: RetryPolicy[] = Array.from({ length: 11 }, (_, maxRetries) => ({
  ...DEFAULTS,
  maxRetries,
}));

export const NO_RETRY: RetryPolicy = plainPolicies[0]!;

export function retryPolicy(options: RetryOptions | undefined): RetryPolicy {
  if (options === undefined) return NO_RETRY;
  if (typeof options !== 'object' || options === null) {
    throw new VolleyError(
      'INVALID_VALUE',
      `retry must be an object such as { maxRetries: 3 }, but it is ${show(options)}.`,
    );
  }
  knownFields.check(options);
  const { maxRetries = 0, delayMs, factor, maxDelayMs, jitter } = options;
  const plain = typeof maxRetries === 'number' ? plainPolicies[maxRetries] : undefined;
  if (
    plain !== undefined &&
    (delayMs === undefined || delayMs === plain.delayMs) &&
    (factor === undefined || factor === plain.factor) &&
    (maxDelayMs === undefined || maxDelayMs === plain.maxDelayMs) &&
    (jitter === undefined || jitter === plain.jitter)
  ) {
    return plain;
  }
  checkNumber('retry.maxRetries', maxRetries, { min: 0, max: 1000, integer: true });
  return {
    maxRetries,
    delayMs: checkNumber('retry.delayMs', delayMs ?? DEFAULTS.delayMs, { min: 0, max: MAX_SPAN_MS }),
    factor: checkNumber('retry.factor', factor ?? DEFAULTS.factor, { min: 1, max: 100 }),
    maxDelayMs: checkNumber('retry.maxDelayMs', maxDelayMs ?? DEFAULTS.maxDelayMs, {
      min: 0,
      max: MAX_SPAN_MS,
    }),
    jitter: checkNumber('retry.jitter', jitter ?? DEFAULTS.jitter, { min: 0, max: 1 }),
  };
}

/** The pause after attempt number `attempt` (from 1): exponential, capped, the last `jitter` of it random. */
export function retryDelayMs(policy: RetryPolicy, attempt: number, random: Random): number {
  // The power overflows to Infinity after many attempts, and 0 * Infinity is NaN.
  if (policy.delayMs === 0) return 0;
  const full = Math.min(policy.maxDelayMs, policy.delayMs * policy.factor ** (attempt - 1));
  return Math.round(full * (1 - policy.jitter * random()));
}
