import type { IncomingMessage } from 'node:http';
import { VolleyError } from '../../core/errors.ts';

/** Whether a request has a body at all. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** Reads a body; refuses it as soon as it is known to be too large, and leaves the connection to the answer. */
export function readBody(incoming: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const onData = (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxBytes) refuse(tooLarge(maxBytes));
      else chunks.push(chunk);
    };
    const refuse = (error: unknown) => {
      // What still comes is thrown away.
      incoming.off('data', onData).resume();
      chunks.length = 0;
      reject(error);
    };
    incoming.once('end', () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)));
    incoming.once('error', refuse);
    incoming.once('close', () =>
      refuse(new VolleyError('INVALID_REQUEST', 'The body was not sent to its end.')),
    );
    if (Number(incoming.headers['content-length'] ?? 0) > maxBytes) refuse(tooLarge(maxBytes));
    else incoming.on('data', onData);
  });
}

function tooLarge(maxBytes: number): VolleyError {
  return new VolleyError(
    'BODY_TOO_LARGE',
    `The body is larger than ${maxBytes} bytes: send less at once, or raise server.limits.max_body_bytes.`,
    { most_bytes: maxBytes },
  );
}
