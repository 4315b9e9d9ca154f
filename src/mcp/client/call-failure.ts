import {
  ProtocolError,
  ProtocolErrorCode,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
} from '@modelcontextprotocol/client';
import { VolleyError } from '../../core/errors.ts';
import { reasonText } from '../../core/words.ts';
import { UNANSWERED } from './http-transport.ts';

/** Sessions that a server does not know any more are answered with this. */
const NOT_FOUND = 404;

/** What the SDK threw at a call, as one of the few things that matter. */
export function toCallFailure(error: unknown): CallFailure | VolleyError {
  if (isLoginNeeded(error) || error instanceof CallFailure) return error;
  const text = problemText(error);
  if (error instanceof ProtocolError) {
    const { code, data } = error;
    if (data === UNANSWERED) return new CallFailure('else', text, false, error);
    if (code === ProtocolErrorCode.ParseError) return new CallFailure('invalid', text, true, error);
    const isPermanent = code === ProtocolErrorCode.InvalidParams || code === ProtocolErrorCode.MethodNotFound;
    return new CallFailure('refused', text, isPermanent, error);
  }
  if (error instanceof SdkHttpError)
    return new CallFailure(error.data.status === NOT_FOUND ? 'lost' : 'else', text, false, error);
  if (error instanceof SdkError) {
    if (error.code === SdkErrorCode.ConnectionClosed) return new CallFailure('ended', text, false, error);
    if (error.code === SdkErrorCode.InvalidResult) return new CallFailure('invalid', text, true, error);
    return new CallFailure('else', text, false, error);
  }
  // From `fetch` or a pipe: nothing is listening.
  return new CallFailure('lost', text, false, error);
}

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
