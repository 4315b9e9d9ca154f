import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { createBrotliDecompress, createUnzip } from 'node:zlib';
import { decodeText, isContinuation } from '../text.ts';

/** What the body of an answer holds, up to a limit. */
export interface Body {
  readonly bytes: Buffer;
  readonly truncated: boolean;
}

/** The encodings that {@link readBody} undoes; others are left as they came. */
export const ACCEPTED_ENCODINGS = 'gzip, deflate, br';

const FIRST_BYTES = 64 * 1024;

/**
 * Reads a body to its end or to `maxBytes`, before and after it is unpacked: a small message that unpacks to a huge
 * one costs no more than the limit. What is left over is not read.
 */
export function readBody(response: IncomingMessage, maxBytes: number): Promise<Body> {
  const unpacker = unpackerFor(response.headers['content-encoding']);
  const source: Readable = unpacker ?? response;
  const reading = new Promise<Body>((resolve, reject) => {
    // One buffer, since an answer may come in chunks of a byte, each of which costs a hundred.
    let bytes = Buffer.allocUnsafe(Math.min(maxBytes, FIRST_BYTES));
    let unpacked = 0;
    let received = 0;
    const finish = (truncated: boolean) => resolve({ bytes: bytes.subarray(0, unpacked), truncated });
    source.on('data', (chunk: Buffer) => {
      const wanted = Math.min(unpacked + chunk.length, maxBytes);
      if (wanted > bytes.length) {
        bytes = Buffer.concat(
          [bytes.subarray(0, unpacked)],
          Math.min(maxBytes, Math.max(wanted, 2 * bytes.length)),
        );
      }
      const isOver = unpacked + chunk.length > maxBytes;
      chunk.copy(bytes, unpacked);
      unpacked = wanted;
      if (!isOver) return;
      source.pause();
      finish(true);
    });
    source.on('end', () => finish(false));
    response.on('error', reject);
    // An unpacker does not take nothing for something packed; here it is an empty body.
    unpacker?.on('error', (error) => (received === 0 ? finish(false) : reject(error)));
    response.on('close', () => {
      if (!response.complete) reject(new Error('the connection was closed before the answer was complete'));
    });
    if (unpacker === undefined) return;
    response.on('data', (chunk: Buffer) => {
      received += chunk.length;
      if (received > maxBytes) finish(true);
    });
    response.pipe(unpacker);
  });
  return reading.finally(() => unpacker?.destroy());
}

/** The body as text where it is some, else as base64. */
export function bodyText(
  body: Body,
  contentType: string | undefined,
): { body: string; encoding: 'text' | 'base64' } {
  const charset = /;\s*charset="?([^\s";]+)/i.exec(contentType ?? '')?.[1]?.toLowerCase() ?? 'utf-8';
  const text = /^(utf-?8|us-ascii)$/.test(charset)
    ? decodeText(body.truncated ? withoutPartOfCharacter(body.bytes) : body.bytes)
    : decodeAs(charset, body.bytes);
  return text === undefined
    ? { body: body.bytes.toString('base64'), encoding: 'base64' }
    : { body: text, encoding: 'text' };
}

function unpackerFor(encoding: string | undefined) {
  switch (encoding?.trim().toLowerCase()) {
    case 'gzip':
    case 'x-gzip':
    case 'deflate':
      return createUnzip();
    case 'br':
      return createBrotliDecompress();
    default:
      return undefined;
  }
}

function withoutPartOfCharacter(bytes: Buffer): Buffer {
  let start = bytes.length;
  while (start > 0 && bytes.length - start < 3 && isContinuation(bytes[start - 1])) start--;
  const first = bytes[start - 1] ?? 0;
  const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
  return bytes.length - (start - 1) < length ? bytes.subarray(0, start - 1) : bytes;
}

function decodeAs(charset: string, bytes: Buffer): string | undefined {
  try {
    return new TextDecoder(charset, { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
