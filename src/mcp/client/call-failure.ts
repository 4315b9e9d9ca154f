import { VolleyError } from '../../core/errors.ts';
import { reasonText } from '../../core/words.ts';

/**
 * Why a call has no result: the server `refused` it, gave an `invalid` answer, `ended` in the midst of it, was `lost` (it
 * cannot be reached, or has forgotten the session), or something `else`. The rest of the client knows no errors of the
 * SDK, which loads slowly.
 */
export class CallFailure extends Error {
  constructor(
    readonly kind: 'refused' | 'invalid' | 'ended' | 'lost' | 'else',
    message: string,
    readonly isPermanent: boolean,
    cause: unknown,
  ) {
    super(message, { cause });
    this.name = 'CallFailure';
  }
}

/** Whether the user must log in at the server first. */
export function isLoginNeeded(error: unknown): error is VolleyError {
  return error instanceof VolleyError && error.code === 'MCP_LOGIN_NEEDED';
}

/** How many causes of causes are looked at. */
const MAX_CAUSES = 5;

/** What went wrong, for people: `fetch failed` says nothing, but what caused it does. */
export function problemText(error: unknown): string {
  let cause = error;
  for (let depth = 0; depth < MAX_CAUSES && cause instanceof Error; depth++) {
    if (cause instanceof TypeError && cause.cause instanceof Error && cause.cause.message !== '')
      return reasonText(cause.cause);
    cause = cause.cause;
  }
  return reasonText(error);
}
