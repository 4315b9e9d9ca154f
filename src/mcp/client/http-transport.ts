import {
  type AuthProvider,
  isJSONRPCRequest,
  type JSONRPCMessage,
  ProtocolErrorCode,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { boundedFetch } from './bounded-fetch.ts';

type SendOptions = Parameters<StreamableHTTPClientTransport['send']>[1];

/** Marks answers of this side: nothing that a server sends is the same. */
export const UNANSWERED = Symbol('unanswered');

/**
 * Speaks to a server over streamable HTTP. The one of the SDK says nothing when the stream that is to bring an answer
 * ends without it, or breaks: the call would wait for its time limit.
 */
export class HttpTransport extends StreamableHTTPClientTransport {
  constructor(url: string, headers: Readonly<Record<string, string>>, login: AuthProvider | undefined) {
    super(new URL(url), {
      requestInit: { headers },
      fetch: boundedFetch,
      ...(login !== undefined && { authProvider: login }),
    });
  }

  override send(message: JSONRPCMessage | JSONRPCMessage[], options?: SendOptions): Promise<void> {
    const onRequestStreamEnd = () => {
      options?.onRequestStreamEnd?.();
      if (!isJSONRPCRequest(message)) return;
      const text = 'The connection ended before the answer came.';
      const error = { code: ProtocolErrorCode.InternalError, message: text, data: UNANSWERED };
      // After an answer, nothing waits for this one.
      this.onmessage?.({ jsonrpc: '2.0', id: message.id, error });
    };
    return super.send(message, { ...options, onRequestStreamEnd });
  }
}
