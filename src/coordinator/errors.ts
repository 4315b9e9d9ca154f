import { VolleyError } from '../core/errors.ts';
import type { FailureReason } from '../core/failure.ts';
import { checkedLimit, checkedOutage, isToolFailure, ToolFailure } from '../engine/tool-failure.ts';
import type { CallError } from './call.ts';
import type { Redactor } from './redaction/redactor.ts';

/**
 * What a tool threw, as it may leave the process: without secrets, bounded, and without the properties of an error. It is
 * made before the engine sees it, because the engine writes messages into events.
 */
export class ReportedError extends ToolFailure {
  readonly code: string | undefined;

  constructor(thrown: unknown, redactor: Redactor, reason?: FailureReason) {
    const { name, message, stack, code } = partsOf(thrown);
    const limit = isToolFailure(thrown) ? checkedLimit(read(thrown, 'limit')) : undefined;
    const outage = isToolFailure(thrown) ? checkedOutage(read(thrown, 'outage')) : undefined;
    super(redactor.text(message), {
      reason: reason ?? (isToolFailure(thrown) ? thrown.reason : 'error'),
      retryable: isRetryable(thrown),
      ...(isToolFailure(thrown) && thrown.memoryMb !== undefined && { memoryMb: thrown.memoryMb }),
      isLost: isToolFailure(thrown) && thrown.isLost,
      ...(limit !== undefined && { limit: withoutSecrets(limit, redactor) }),
      ...(outage !== undefined && { outage: withoutSecrets(outage, redactor) }),
    });
    this.name = redactor.text(name);
    this.code = code === undefined ? undefined : redactor.text(code);
    if (stack !== undefined) this.stack = redactor.text(stack);
  }
}

function withoutSecrets<T extends { readonly scope?: string }>(report: T, redactor: Redactor): T {
  return report.scope === undefined ? report : { ...report, scope: redactor.text(report.scope) };
}

/** An error as data, for a result. */
export function toCallError(thrown: unknown, redactor: Redactor): CallError {
  const { name, message, code, stack, limit, outage } = isA(thrown, ReportedError)
    ? thrown
    : new ReportedError(thrown, redactor);
  return {
    name,
    message,
    ...(code !== undefined && { code }),
    ...(stack !== undefined && { stack }),
    ...(limit !== undefined && { limit }),
    ...(outage !== undefined && { outage }),
  };
}

/** A retry is pointless if Volley itself refused, unless the error says otherwise. */
function isRetryable(thrown: unknown): boolean {
  const retryable = read(thrown, 'retryable');
  return typeof retryable === 'boolean' ? retryable : !isA(thrown, VolleyError);
}

function partsOf(thrown: unknown): { name: string; message: string; stack?: string; code?: string } {
  if (!isA(thrown, Error)) return { name: 'Error', message: textOf(thrown) };
  const [name, message, stack] = [read(thrown, 'name'), read(thrown, 'message'), read(thrown, 'stack')];
  // A runner wraps its failure: the cause says which limit it was.
  const cause = isToolFailure(thrown) ? read(thrown, 'cause') : undefined;
  const code = read(isA(cause, Error) ? cause : thrown, 'code');
  return {
    name: typeof name === 'string' ? name : 'Error',
    message: message === undefined ? 'an error without a message' : textOf(message),
    ...(typeof stack === 'string' && { stack }),
    ...(typeof code === 'string' && { code }),
  };
}

function textOf(value: unknown): string {
  try {
    return typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value));
  } catch {
    return 'something that cannot be shown as text';
  }
}

/** Reading a property of something that a tool threw may throw as well. */
function read(thrown: unknown, key: string): unknown {
  try {
    return (Object(thrown) as Record<string, unknown>)[key];
  } catch {
    return undefined;
  }
}

/** `instanceof`, which throws for a revoked proxy. */
function isA<T>(thrown: unknown, type: abstract new (...args: never[]) => T): thrown is T {
  try {
    return thrown instanceof type;
  } catch {
    return false;
  }
}

/** Why a call was refused, for the engine and its events. */
export function reportRefusal(error: VolleyError, redactor: Redactor): ReportedError {
  return new ReportedError(error, redactor, error.code === 'EXECUTION_DEADLINE' ? 'deadline' : undefined);
}
