import { ERROR_CODES } from './error-codes.ts';

export { ERROR_CODES };

/** A stable error code; see `docs/errors.md`. */
export type ErrorCode = keyof typeof ERROR_CODES;

/** The only error class of Volley: `code` is for programs, `message` says what is wrong and what to do. */
export class VolleyError extends Error {
  readonly code: ErrorCode;
  /** The facts of the message as data, e.g. the path of a cycle. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: ErrorCode,
    message: string,
    details: Readonly<Record<string, unknown>> = {},
    options?: { cause?: unknown },
  ) {
    super(message, options);
    this.name = 'VolleyError';
    this.code = code;
    this.details = details;
  }
}

/** A bug in Volley: a state that should be impossible. */
export function internalError(message: string): VolleyError {
  return new VolleyError('INTERNAL', `${message} (this is a bug in Volley, please report it)`);
}

/** For the end of a switch over a union: a forgotten case does not compile. */
export function unreachable(value: never): never {
  throw internalError(`Unhandled case: ${String(value)}`);
}
