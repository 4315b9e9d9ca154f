import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { VolleyError } from '../../core/errors.ts';
import { findInexactNumber, inexactNumberError } from '../../core/json-numbers.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** Brackets and braces differ in this bit only. */
const BRACE_BIT = 0x20;
const OPENING = 0x7b;
const CLOSING = 0x7d;
const JSON_TYPE = /^application\/([a-z.-]+\+)?json(\s*;.*)?$/i;

/** Throws unless a body is declared as JSON, is UTF-8, is not nested too deeply, and has no number that parsing would change. */
export function checkJson(body: Buffer, contentType: string | undefined, maxDepth: number): void {
  if (contentType === undefined || !JSON_TYPE.test(contentType)) {
    throw new VolleyError(
      'UNSUPPORTED_MEDIA_TYPE',
      'The body must be JSON. Send "Content-Type: application/json".',
    );
  }
  if (!isUtf8(body)) throw invalidJson('it contains bytes that are not UTF-8');
  checkDepth(body, maxDepth);
  checkNumbers(body.toString());
}

/** The error for a body that could not be parsed. */
export function jsonFault(body: Buffer): VolleyError {
  try {
    JSON.parse(body.toString());
    return invalidJson('it could not be read');
  } catch (error) {
    return invalidJson((error as Error).message);
  }
}

function checkDepth(body: Buffer, maxDepth: number): void {
  let depth = 0;
  let isInText = false;
  for (let at = 0; at < body.length; at++) {
    const byte = body[at]!;
    if (isInText) {
      if (byte === BACKSLASH) at++;
      else if (byte === QUOTE) isInText = false;
    } else if (byte === QUOTE) isInText = true;
    else if ((byte | BRACE_BIT) === CLOSING) depth--;
    else if ((byte | BRACE_BIT) === OPENING && ++depth > maxDepth) {
      throw new VolleyError(
        'BODY_TOO_DEEP',
        `The JSON is nested deeper than ${maxDepth} levels: make it flatter, or raise server.limits.max_depth.`,
        { most_depth: maxDepth },
      );
    }
  }
}

function checkNumbers(text: string): void {
  const found = findInexactNumber(text);
  if (found === undefined) return;
  try {
    JSON.parse(text);
  } catch {
    // The parser reports what is wrong.
    return;
  }
  throw inexactNumberError(text, found);
}

function invalidJson(problem: string): VolleyError {
  return new VolleyError('INVALID_JSON', `The body is not valid JSON: ${problem}.`);
}

/** Whether a request has a body at all. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/**
 * Reads a body and rejects it as soon as it is too large, keeping the connection for the response. Hono's `bodyLimit`
 * runs after routing, and this limit depends on the sender.
 */
export function readRequestBody(incoming: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const onData = (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxBytes) refuse(tooLarge(maxBytes));
      else chunks.push(chunk);
    };
    const refuse = (error: unknown) => {
      // The rest is discarded.
      incoming.off('data', onData).resume();
      chunks.length = 0;
      reject(error);
    };
    incoming.once('end', () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)));
    incoming.once('error', refuse);
    incoming.once('close', () => refuse(new VolleyError('INVALID_REQUEST', 'The body is incomplete.')));
    if (Number(incoming.headers['content-length'] ?? 0) > maxBytes) refuse(tooLarge(maxBytes));
    else incoming.on('data', onData);
  });
}

function tooLarge(maxBytes: number): VolleyError {
  return new VolleyError(
    'BODY_TOO_LARGE',
    `The body is larger than ${maxBytes} bytes. Send less at once, or raise server.limits.max_body_bytes.`,
    { most_bytes: maxBytes },
  );
}
