import { VolleyError } from '../core/errors.ts';
import type { Execution } from '../core/execution.ts';
import { type FailureReason, GroupFailed } from '../core/failure.ts';
import { reasonText } from '../core/words.ts';

interface OutcomeBase {
  readonly id: string;
  readonly toolName: string;
  /** How many attempts were started. */
  readonly attempts: number;
  /** From the submission to the start of the last attempt, or to the end if there was none. */
  readonly waitedMs: number;
  /** From the start of the last attempt to the end. */
  readonly durationMs: number;
}

/** How an execution ended: a value, or the reason why there is none. */
export type Outcome<T = unknown> =
  | (OutcomeBase & { readonly status: 'completed'; readonly value: T })
  | (OutcomeBase & { readonly status: 'failed'; readonly reason: FailureReason; readonly error: unknown })
  /** `cause` is the id of the execution whose failure cancelled its group. */
  | (OutcomeBase & { readonly status: 'cancelled'; readonly reason: string; readonly cause?: string })
  /** `cause` is the id of the root cause; a compensation that was not needed has none. */
  | (OutcomeBase & { readonly status: 'skipped'; readonly cause: string | undefined });

/** Describes a settled execution; `value` is what its function returned. */
export function outcomeOf<T>(execution: Execution, value: T): Outcome<T> {
  const { id, attempt, submittedAt, startedAt, since: settledAt, ending } = execution;
  const { name: toolName } = execution.demand.tool;
  const waitedMs = (attempt === 0 ? settledAt : startedAt) - submittedAt;
  const durationMs = attempt === 0 ? 0 : settledAt - startedAt;
  // Written out: most complete, and spreading takes longer than everything else here.
  if (ending === undefined)
    return { id, toolName, attempts: attempt, waitedMs, durationMs, status: 'completed', value };
  const base = { id, toolName, attempts: attempt, waitedMs, durationMs };
  switch (ending.kind) {
    case 'failed':
      return { ...base, status: 'failed', reason: ending.failure.reason, error: errorOf(execution) };
    case 'cancelled':
      return {
        ...base,
        status: 'cancelled',
        reason: reasonText(ending.reason),
        ...(ending.reason instanceof GroupFailed && { cause: ending.reason.failed }),
      };
    case 'skipped':
      return { ...base, status: 'skipped', cause: ending.cause?.id };
  }
}

/** What `wait()` throws for an execution that did not complete: the tool's own error where there is one. */
export function errorOf(execution: Execution): unknown {
  const { ending } = execution;
  const who = `${execution.id} (${execution.demand.tool.name})`;
  const details = { id: execution.id, toolName: execution.demand.tool.name, attempts: execution.attempt };
  switch (ending?.kind) {
    case undefined:
      return undefined;
    case 'cancelled':
      return new VolleyError(
        'EXECUTION_CANCELLED',
        `${who} was cancelled: ${reasonText(ending.reason)}`,
        details,
      );
    case 'skipped': {
      const { cause } = ending;
      const why =
        cause === undefined
          ? 'it runs only when a dependency fails, and none did'
          : `it depends on ${cause.id} (${cause.demand.tool.name}), which ${cause.statusName === 'failed' ? 'failed' : `was ${cause.statusName}`}`;
      return new VolleyError('EXECUTION_SKIPPED', `${who} was skipped: ${why}`, {
        ...details,
        cause: cause?.id,
      });
    }
    case 'failed': {
      const { reason, error } = ending.failure;
      if (error !== undefined) return error;
      return failureError(reason, {
        ...details,
        timeoutMs: execution.terms.timeoutMs,
        stallMs: execution.terms.stallMs,
      });
    }
  }
}

/** What a failure without an error of its own is made into; `details` has the numbers that the sentence needs. */
export function failureError(
  reason: FailureReason,
  {
    timeoutMs,
    stallMs,
    ...details
  }: Readonly<Record<string, unknown>> & { readonly id: string; readonly toolName: string },
): VolleyError {
  const who = `${details.id} (${details.toolName})`;
  switch (reason) {
    case 'timeout':
      return new VolleyError('EXECUTION_TIMEOUT', `${who} ran longer than its limit of ${timeoutMs} ms`, {
        ...details,
        timeoutMs,
      });
    case 'stalled':
      return new VolleyError('EXECUTION_STALLED', `${who} reported no progress for ${stallMs} ms`, {
        ...details,
        stallMs,
      });
    case 'deadline':
      return new VolleyError('EXECUTION_DEADLINE', `${who} did not finish before its deadline`, details);
    default:
      return new VolleyError('EXECUTION_FAILED', `${who} failed: ${reason}`, { ...details, reason });
  }
}
