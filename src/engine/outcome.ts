import { type ErrorCode, VolleyError } from '../core/errors.ts';
import type { Execution } from '../core/execution.ts';
import {
  type CancellationCause,
  cancellationText,
  type FailureReason,
  RelatedCancellation,
} from '../core/failure.ts';
import { reasonText } from '../core/words.ts';

interface OutcomeBase {
  readonly id: string;
  readonly toolName: string;
  /** The number of started attempts. */
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
  /** `because` names the execution that caused the cancellation, if any. */
  | (OutcomeBase & {
      readonly status: 'cancelled';
      readonly reason: string;
      readonly because?: CancellationCause;
    })
  /** `cause` is the id of the root cause; a compensation that was not needed has none. */
  | (OutcomeBase & { readonly status: 'skipped'; readonly cause: string | undefined });

/** Describes a settled execution; `value` is what its function returned. */
export function outcomeOf<T>(execution: Execution, value: T): Outcome<T> {
  const { id, attempt, submittedAt, startedAt, since: settledAt, ending } = execution;
  const { name: toolName } = execution.demand.tool;
  const waitedMs = (attempt === 0 ? settledAt : startedAt) - submittedAt;
  const durationMs = attempt === 0 ? 0 : settledAt - startedAt;
  // Written out: most executions complete, and spreading would cost more than everything else here.
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
        ...(ending.reason instanceof RelatedCancellation && { because: ending.reason.because }),
      };
    case 'skipped':
      return { ...base, status: 'skipped', cause: ending.cause?.id };
  }
}

/** The error that `wait()` throws for an execution that did not complete: the tool's own error if there is one. */
export function errorOf(execution: Execution): unknown {
  const { ending, terms } = execution;
  const { id, toolName } = { id: execution.id, toolName: execution.demand.tool.name };
  const base = { id, toolName, attempts: execution.attempt };
  switch (ending?.kind) {
    case undefined:
      return undefined;
    case 'cancelled': {
      const { reason } = ending;
      const because = reason instanceof RelatedCancellation ? reason.because : undefined;
      return executionError('EXECUTION_CANCELLED', { ...base, reason: reasonText(reason), because });
    }
    case 'skipped': {
      const { cause } = ending;
      return executionError('EXECUTION_SKIPPED', {
        ...base,
        cause: cause?.id,
        causeToolName: cause?.demand.tool.name,
        causeStatus: cause?.statusName,
      });
    }
    case 'failed': {
      const { reason, error } = ending.failure;
      if (error !== undefined) return error;
      switch (reason) {
        case 'timeout':
          return executionError('EXECUTION_TIMEOUT', { ...base, timeoutMs: terms.timeoutMs });
        case 'stalled':
          return executionError('EXECUTION_STALLED', { ...base, stallMs: terms.stallMs });
        case 'deadline':
          return executionError('EXECUTION_DEADLINE', base);
        default:
          return executionError('EXECUTION_FAILED', { ...base, reason });
      }
    }
  }
}

/** The error of a function that threw undefined. */
export function thrownUndefined(execution: Execution): VolleyError {
  const { id, attempt: attempts, demand } = execution;
  return executionError('EXECUTION_FAILED', {
    id,
    toolName: demand.tool.name,
    attempts,
    reason: 'error',
    thrown: 'undefined',
  });
}

/**
 * The outcome with the caller's names: the engine's ids and tool names may have been generated. An error that a tool
 * threw stays as it is.
 */
export function renameOutcome<T>(
  outcome: Outcome<T>,
  toolName: string,
  idOf: (executionId: string) => string,
): Outcome<T> {
  const base = { ...outcome, id: idOf(outcome.id), toolName };
  switch (base.status) {
    case 'completed':
      return base;
    case 'failed':
      return { ...base, error: renameError(base.error, toolName, idOf) };
    case 'skipped':
      return { ...base, cause: base.cause === undefined ? undefined : idOf(base.cause) };
    case 'cancelled': {
      if (base.because === undefined) return base;
      const because = { ...base.because, id: idOf(base.because.id) };
      return { ...base, because, reason: cancellationText(because) };
    }
  }
}

/** The same for an error: one of the engine is rebuilt from its details, any other is returned as it is. */
export function renameError(
  error: unknown,
  toolName: string,
  idOf: (executionId: string) => string,
): unknown {
  if (!(error instanceof VolleyError) || !isEngineCode(error.code)) return error;
  const details = error.details as Partial<ExecutionErrorDetails>;
  const { id, cause, because } = details;
  if (id === undefined) return error;
  return executionError(error.code, {
    ...details,
    id: idOf(id),
    toolName,
    ...(cause !== undefined && { cause: idOf(cause) }),
    ...(because !== undefined && {
      because: { ...because, id: idOf(because.id) },
      reason: cancellationText({ ...because, id: idOf(because.id) }),
    }),
  });
}

interface ExecutionErrorDetails extends Readonly<Record<string, unknown>> {
  readonly id: string;
  readonly toolName: string;
  readonly cause?: string | undefined;
  readonly because?: CancellationCause | undefined;
}

/** The message of each code, built from the details. */
const MESSAGES = {
  EXECUTION_CANCELLED: ({ reason }) => `was cancelled: ${reason}`,
  EXECUTION_SKIPPED: ({ cause, causeToolName, causeStatus }) => {
    if (cause === undefined) return 'was skipped: it runs only when a dependency fails, and none did';
    const end = causeStatus === 'failed' ? 'failed' : `was ${causeStatus}`;
    return `was skipped: it depends on ${cause} (${causeToolName}), which ${end}`;
  },
  EXECUTION_TIMEOUT: ({ timeoutMs }) => `ran longer than its limit of ${timeoutMs} ms`,
  EXECUTION_STALLED: ({ stallMs }) => `reported no progress for ${stallMs} ms`,
  EXECUTION_DEADLINE: () => 'did not finish before its deadline',
  EXECUTION_FAILED: ({ reason, thrown }) =>
    thrown === undefined ? `failed: ${reason}` : 'threw undefined. Throw an Error instead.',
} satisfies Partial<Record<ErrorCode, (details: ExecutionErrorDetails) => string>>;

function isEngineCode(code: ErrorCode): code is keyof typeof MESSAGES {
  return Object.hasOwn(MESSAGES, code);
}

function executionError(code: keyof typeof MESSAGES, details: ExecutionErrorDetails): VolleyError {
  const { id, toolName } = details;
  return new VolleyError(code, `${id} (${toolName}) ${MESSAGES[code](details)}`, details);
}
