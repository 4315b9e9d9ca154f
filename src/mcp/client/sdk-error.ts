import {
  ProtocolError,
  ProtocolErrorCode,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
} from '@modelcontextprotocol/client';
import { CallFailure, problemText } from './call-failure.ts';
import { UNANSWERED } from './http-transport.ts';

/** Sessions that a server does not know any more are answered with this. */
const NOT_FOUND = 404;

/** What the SDK threw at a call, as one of the few things that matter. */
export function toCallFailure(error: unknown): CallFailure {
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
  // Of `fetch`, or of a pipe: nobody is there.
  return new CallFailure('lost', text, false, error);
}
