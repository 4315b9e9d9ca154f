import { VolleyError } from './errors.ts';
import type { Failure } from './failure.ts';
import { checkBoolean, checkSpanMs, show } from './numbers.ts';
import { NO_RETRY, type RetryPolicy, retryPolicy } from './retry.ts';
import type { ExecutionSpec } from './spec.ts';

/**
 * What an execution does if a dependency did not complete: `skip` (and say why), `run` anyway once all have settled, or
 * run only `on-failure`, as a compensation.
 */
export type DependencyPolicy = 'skip' | 'run' | 'on-failure';

/** Limits, retries and failure policy of an execution. Most executions of a tool share one object. */
export interface Terms {
  /** 0 for no limit. */
  readonly timeoutMs: number;
  readonly stallMs: number;
  readonly retry: RetryPolicy;
  readonly policy: DependencyPolicy;
  readonly isIdempotent: boolean;
  /** Whether the caller gave an estimate. */
  readonly isEstimated: boolean;
}

export const DEFAULT_TERMS: Terms = {
  timeoutMs: 300_000,
  stallMs: 0,
  retry: NO_RETRY,
  policy: 'skip',
  isIdempotent: false,
  isEstimated: false,
};

/** The terms of a specification. Returns `known` if they are the same. */
export function resolveTerms(spec: ExecutionSpec, known: Terms): Terms {
  const timeoutMs = checkSpanMs('timeoutMs', spec.timeoutMs, DEFAULT_TERMS.timeoutMs);
  const stallMs = checkSpanMs('stallMs', spec.stallMs);
  const retry = retryPolicy(spec.retry);
  const policy = dependencyPolicy(spec.onDependencyFailure);
  if (spec.idempotent !== undefined) checkBoolean('idempotent', spec.idempotent);
  const isIdempotent = spec.idempotent === true;
  const isEstimated = spec.estimatedMs !== undefined;
  const isKnown =
    timeoutMs === known.timeoutMs &&
    stallMs === known.stallMs &&
    retry === known.retry &&
    policy === known.policy &&
    isIdempotent === known.isIdempotent &&
    isEstimated === known.isEstimated;
  return isKnown ? known : { timeoutMs, stallMs, retry, policy, isIdempotent, isEstimated };
}

/** How many attempts of an execution may be lost with their workers, or come back unbegun, without counting. */
const MAX_CRASHED = 20;
const MAX_RETURNED = 1000;

/** Whether an attempt that failed does not count, after `lost` others of the same execution did not. */
export function isUncounted({ isLost, reason }: Failure, lost: number): boolean {
  return isLost === true && lost < (reason === 'crashed' ? MAX_CRASHED : MAX_RETURNED);
}

/** Whether another attempt may follow after such a failure, which has been counted. */
export function mayRetry({ retry, isIdempotent }: Terms, attempts: number, failure: Failure): boolean {
  if (attempts > retry.maxRetries || failure.isPermanent === true || failure.reason === 'budget')
    return false;
  return failure.reason !== 'crashed' || isIdempotent;
}

function dependencyPolicy(policy: DependencyPolicy | undefined): DependencyPolicy {
  if (policy === undefined) return 'skip';
  if (policy === 'skip' || policy === 'run' || policy === 'on-failure') return policy;
  throw new VolleyError(
    'INVALID_VALUE',
    `onDependencyFailure must be skip, run or on-failure, but it is ${show(policy)}.`,
  );
}
