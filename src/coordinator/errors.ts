import { VolleyError } from '../core/errors.ts';
import type { Outcome } from '../engine/outcome.ts';
import { isToolFailure, ToolFailure } from '../engine/tool-failure.ts';
import type { CallError } from './call.ts';
import type { Redactor } from './redaction/redactor.ts';

/**
 * What a tool threw, in the form in which it may leave the process: without secrets, bounded, and without the objects
 * that hang on an error. The engine writes its message into events, so it is made before the engine sees it.
 */
export class ReportedError extends ToolFailure {
  readonly code: string | undefined;

  constructor(thrown: unknown, redactor: Redactor) {
    const { name, message, stack, code } = partsOf(thrown);
    super(redactor.text(message), {
      reason: isToolFailure(thrown) ? thrown.reason : 'error',
      retryable: isRetryable(thrown),
    });
    this.name = redactor.text(name);
    this.code = code === undefined ? undefined : redactor.text(code);
    if (stack !== undefined) this.stack = redactor.text(stack);
  }
}

/** An error as data, for a result. */
export function toCallError(thrown: unknown, redactor: Redactor): CallError {
  const { name, message, code, stack } = isA(thrown, ReportedError)
    ? thrown
    : new ReportedError(thrown, redactor);
  return {
    name,
    message,
    ...(code !== undefined && { code }),
    ...(stack !== undefined && { stack }),
  };
}

/** Trying again is pointless where Volley itself refused, unless the error says otherwise. */
function isRetryable(thrown: unknown): boolean {
  const retryable = read(thrown, 'retryable');
  return typeof retryable === 'boolean' ? retryable : !isA(thrown, VolleyError);
}

function partsOf(thrown: unknown): { name: string; message: string; stack?: string; code?: string } {
  if (!isA(thrown, Error)) return { name: 'Error', message: textOf(thrown) };
  const [name, message, stack] = [read(thrown, 'name'), read(thrown, 'message'), read(thrown, 'stack')];
  // A failure of a runner is only a wrapping: its cause says which limit it was.
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

/** A property of something that a tool threw. Reading it may throw, too. */
function read(thrown: unknown, key: string): unknown {
  try {
    return (Object(thrown) as Record<string, unknown>)[key];
  } catch {
    return undefined;
  }
}

/** `instanceof`, for what may be a proxy that is of no use any more. */
function isA<T>(thrown: unknown, type: abstract new (...args: never[]) => T): thrown is T {
  try {
    return thrown instanceof type;
  } catch {
    return false;
  }
}

type FailedOutcome = Extract<Outcome, { status: 'failed' }>;

/** How the engine knows what waits for the child that does the work of a call. */
export const PREPARING = 'prepare ';

/**
 * Why an execution failed, for who knows its tool by the name `called`: the engine speaks of the name under which calls
 * are limited, which is one for all tools of an MCP server. `plain` puts the engine's ids into the words of the caller.
 */
export function outcomeError(
  { error, toolName }: FailedOutcome,
  called: string,
  redactor: Redactor,
  plain: (text: string) => string,
): CallError {
  const { message, stack, ...rest } = toCallError(error, redactor);
  const isOfEngine = rest.code?.startsWith('EXECUTION_') === true && toolName !== called;
  const limited = toolName.startsWith(PREPARING) ? toolName.slice(PREPARING.length) : toolName;
  const words = (text: string) =>
    plain(
      isOfEngine
        ? text.replace(`(${PREPARING}${limited})`, `(${called})`).replace(`(${limited})`, `(${called})`)
        : text,
    );
  return { ...rest, message: words(message), ...(stack !== undefined && { stack: words(stack) }) };
}
