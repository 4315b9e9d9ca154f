import { VolleyError } from '../core/errors.ts';
import { ToolFailure } from '../engine/tool-failure.ts';
import type { CallError } from './call.ts';
import type { Redactor } from './redactor.ts';

/**
 * What a tool threw, in the form in which it may leave the process: without secrets, bounded, and without the objects
 * that hang on an error. The engine writes its message into events, so it is made before the engine sees it.
 */
export class ReportedError extends ToolFailure {
  readonly code: string | undefined;

  constructor(thrown: unknown, redactor: Redactor) {
    const { name, message, stack, code } = partsOf(thrown);
    super(redactor.text(message), {
      reason: thrown instanceof ToolFailure ? thrown.reason : 'error',
      retryable: isRetryable(thrown),
    });
    this.name = redactor.text(name);
    this.code = code === undefined ? undefined : redactor.text(code);
    if (stack !== undefined) this.stack = redactor.text(stack);
  }
}

/** An error as data, for a result. */
export function toCallError(thrown: unknown, redactor: Redactor): CallError {
  const { name, message, code, stack } =
    thrown instanceof ReportedError ? thrown : new ReportedError(thrown, redactor);
  return {
    name,
    message,
    ...(code !== undefined && { code }),
    ...(stack !== undefined && { stack }),
  };
}

/** Trying again is pointless where Volley itself refused, unless the error says otherwise. */
function isRetryable(thrown: unknown): boolean {
  const { retryable } = Object(thrown) as { retryable?: unknown };
  return typeof retryable === 'boolean' ? retryable : !(thrown instanceof VolleyError);
}

function partsOf(thrown: unknown): { name: string; message: string; stack?: string; code?: string } {
  if (!(thrown instanceof Error)) return { name: 'Error', message: textOf(thrown) };
  // A failure of a runner is only a wrapping: its cause says which limit it was.
  const { name, message, stack } = thrown;
  const { code } = (
    thrown instanceof ToolFailure && thrown.cause instanceof Error ? thrown.cause : thrown
  ) as {
    code?: unknown;
  };
  return {
    name,
    message,
    ...(typeof stack === 'string' && { stack }),
    ...(typeof code === 'string' && { code }),
  };
}

function textOf(thrown: unknown): string {
  try {
    return typeof thrown === 'string' ? thrown : (JSON.stringify(thrown) ?? String(thrown));
  } catch {
    return Object.prototype.toString.call(thrown);
  }
}
