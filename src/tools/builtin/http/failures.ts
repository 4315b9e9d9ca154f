import { VolleyError } from '../../../core/errors.ts';
import { refusal } from '../refusal.ts';

/** A request that got no complete answer. */
export function requestFailed(problem: string, mayBeRetried: boolean, cause?: unknown): VolleyError {
  const message = `The request failed: ${problem}.`;
  if (!mayBeRetried) return refusal('REQUEST_FAILED', message, {}, cause);
  return new VolleyError('REQUEST_FAILED', message, {}, cause === undefined ? undefined : { cause });
}
