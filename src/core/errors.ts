import { BATCH_ERRORS } from './error-codes/batches.ts';
import { ENGINE_ERRORS } from './error-codes/engine.ts';
import { FEATURE_ERRORS } from './error-codes/features.ts';
import { SERVER_ERRORS } from './error-codes/server.ts';
import type { ErrorTable } from './error-codes/table.ts';
import { TOOL_ERRORS } from './error-codes/tools.ts';

/**
 * Every error that Volley itself raises has one of these codes. A code never changes its meaning and is never
 * reused; `docs/errors.md` is generated from this table. A new one goes into the file of its subject.
 */
export const ERROR_CODES = {
  ...ENGINE_ERRORS,
  ...TOOL_ERRORS,
  ...BATCH_ERRORS,
  ...SERVER_ERRORS,
  ...FEATURE_ERRORS,
  INTERNAL: {
    meaning: 'Volley broke one of its own rules.',
    remedy: 'Please report it with the message: it is a defect of Volley, not of your code.',
  },
} as const satisfies ErrorTable;

/** A stable name of an error; see `docs/errors.md`. */
export type ErrorCode = keyof typeof ERROR_CODES;

/** The one error class of Volley: `code` is for programs, `message` says what is wrong and what to do. */
export class VolleyError extends Error {
  readonly code: ErrorCode;
  /** The same facts as the message, as data: for example the path of a cycle. */
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

/** A defect of Volley itself: a state that the rules exclude was reached. */
export function internalError(message: string): VolleyError {
  return new VolleyError('INTERNAL', `${message} (this is a defect of Volley, please report it)`);
}
