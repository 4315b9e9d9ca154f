import {
  ProtocolError,
  ProtocolErrorCode,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
} from '@modelcontextprotocol/client';
import { CallFailure, problemText } from './call-failure.ts';

/** Sessions that a server does not know any more are answered with this. */
const NOT_FOUND = 404;

/** What the SDK threw at a call, as one of the few things that matter. */
export function toCallFailure(error: unknown): CallFailure {
  const text = problemText(error);
  if (error instanceof ProtocolError) {
    const { code } = error;
    const isPermanent = code === ProtocolErrorCode.InvalidParams || code === ProtocolErrorCode.MethodNotFound;
    return new CallFailure('refused', text, isPermanent, error);
  }
  if (error instanceof SdkHttpError)
    return new CallFailure(error.data.status === NOT_FOUND ? 'lost' : 'else', text, false, error);
  if (error instanceof SdkError) {
    if (error.code === SdkErrorCode.ConnectionClosed) return new CallFailure('ended', text, false, error);
    return new CallFailure('else', text, error.code === SdkErrorCode.InvalidResult, error);
  }
  // Of `fetch`, or of a pipe: nobody is there.
  return new CallFailure('lost', text, false, error);
}
