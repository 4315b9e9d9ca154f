import type { Outcome } from '../engine/outcome.ts';
import type { CallResult } from './call.ts';
import type { EarlyEnd } from './early-ends.ts';
import type { PlannedCall } from './plan.ts';
import type { Redactor } from './redactor.ts';
import { toCallError } from './reported-error.ts';

/** How an execution ended, in the words of the call that it belongs to. */
export function toResult(
  { id, call }: PlannedCall,
  outcome: Outcome,
  redactor: Redactor,
  callIdOf: (executionId: string) => string,
): CallResult {
  const { attempts, waitedMs, durationMs } = outcome;
  const base = { id, name: call.name, attempts, waitedMs, durationMs };
  switch (outcome.status) {
    case 'completed':
      return {
        id,
        name: call.name,
        attempts,
        waitedMs,
        durationMs,
        status: 'completed',
        value: outcome.value,
      };
    case 'failed':
      return {
        ...base,
        status: 'failed',
        reason: outcome.reason,
        error: toCallError(outcome.error, redactor),
      };
    case 'cancelled':
      return { ...base, status: 'cancelled', reason: redactor.text(outcome.reason) };
    case 'skipped':
      return {
        ...base,
        status: 'skipped',
        cause: outcome.cause === undefined ? undefined : callIdOf(outcome.cause),
      };
  }
}

/** The result of a call that never reached the engine. */
export function earlyResult(planned: PlannedCall, end: EarlyEnd, redactor: Redactor): CallResult {
  const base = { id: planned.id, name: planned.call.name, attempts: 0, waitedMs: 0, durationMs: 0 };
  if (planned.kind === 'refused') {
    return { ...base, status: 'failed', reason: 'error', error: toCallError(planned.error, redactor) };
  }
  return { ...base, status: 'skipped', cause: end.kind === 'skipped' ? end.cause : undefined };
}
