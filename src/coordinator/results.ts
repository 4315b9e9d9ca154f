import type { Outcome } from '../engine/outcome.ts';
import type { CallResult } from './call.ts';
import type { EarlyEnd } from './early-ends.ts';
import { outcomeError, toCallError } from './errors.ts';
import type { PlannedCall } from './plan.ts';
import type { Redactor } from './redaction/redactor.ts';

/** How an execution ended, in the words of the call that it belongs to; `plain` makes them of the engine's. */
export function toResult(
  { id, call }: PlannedCall,
  outcome: Outcome,
  redactor: Redactor,
  plain: (text: string) => string,
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
        error: outcomeError(outcome, call.name, redactor, plain),
      };
    case 'cancelled':
      return { ...base, status: 'cancelled', reason: plain(redactor.text(outcome.reason)) };
    case 'skipped':
      return {
        ...base,
        status: 'skipped',
        cause: outcome.cause === undefined ? undefined : plain(outcome.cause),
      };
  }
}

/** The result of a call that never reached the engine. */
export function earlyResult(planned: PlannedCall, end: EarlyEnd, redactor: Redactor): CallResult {
  const base = { id: planned.id, name: planned.call.name, attempts: 0, waitedMs: 0, durationMs: 0 };
  if (planned.kind === 'refused') {
    const { error } = planned;
    // Stopped while it was looked at.
    if (error.code === 'EXECUTION_CANCELLED')
      return { ...base, status: 'cancelled', reason: redactor.text(error.message) };
    const reason = error.code === 'EXECUTION_DEADLINE' ? 'deadline' : 'error';
    return { ...base, status: 'failed', reason, error: toCallError(error, redactor) };
  }
  return { ...base, status: 'skipped', cause: end.kind === 'skipped' ? end.cause : undefined };
}
