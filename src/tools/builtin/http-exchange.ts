import type { LookupAddress } from 'node:dns';
import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import { createRequire } from 'node:module';
import type { LookupFunction } from 'node:net';
import type { Readable } from 'node:stream';
import { VolleyError } from '../../core/errors.ts';
import { OutageError } from '../../engine/tool-failure.ts';
import type { HttpMessage } from './http-redirects.ts';
import { codeOf, refusal } from './refusal.ts';
import { decodeText, isContinuation } from './text-search.ts';

/** Loads a part of Node with the first request: these take longer to load than most commands take. */
const load = createRequire(import.meta.url);
const http = () => load('node:http') as typeof import('node:http');
const https = () => load('node:https') as typeof import('node:https');
const zlib = () => load('node:zlib') as typeof import('node:zlib');

/** The body of a response, up to a limit. */
interface Body {
  readonly bytes: Buffer;
  readonly truncated: boolean;
}

/** The encodings that {@link readBody} decodes; others are left as they are. */
const ACCEPTED_ENCODINGS = 'gzip, deflate, br';

const FIRST_BYTES = 64 * 1024;

/**
 * Reads a body to its end or to `maxBytes`, before and after decompression: a small body that expands to a huge one
 * costs no more than the limit. The rest is not read.
 */
function readBody(response: IncomingMessage, maxBytes: number): Promise<Body> {
  const unpacker = unpackerFor(response.headers['content-encoding']);
  const source: Readable = unpacker ?? response;
  const reading = new Promise<Body>((resolve, reject) => {
    // One buffer, since a response may come in one-byte chunks, each of which costs a hundred bytes.
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
    // Decompressors reject empty input; here it is an empty body.
    unpacker?.on('error', (error) => (received === 0 ? finish(false) : reject(error)));
    response.on('close', () => {
      if (!response.complete) reject(new Error('the connection was closed before the response was complete'));
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

/** The body as text if it is text, else as base64. */
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
      return zlib().createUnzip();
    case 'br':
      return zlib().createBrotliDecompress();
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

/** One response. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Body;
}

const MAX_HEADER_BYTES = 16 * 1024;
/** Idempotent methods. */
const REPEATABLE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']);

/** Sends one request to one of the addresses, and settles when its connection is closed. */
export async function exchange(
  message: HttpMessage,
  addresses: readonly LookupAddress[],
  maxBytes: number,
  signal: AbortSignal,
): Promise<Answer> {
  signal.throwIfAborted();
  const request = (message.url.protocol === 'https:' ? https() : http()).request(
    message.url,
    optionsFor(message, addresses),
  );
  const closed = new Promise<void>((resolve) => request.on('close', resolve));
  // From here on, the server may have acted on it.
  let isConnected = false;
  request.on('socket', (socket) => {
    socket.on('connect', () => {
      isConnected = true;
    });
  });
  const abort = () => request.destroy(new Error('the request was aborted'));
  signal.addEventListener('abort', abort);
  try {
    return await answerTo(request, message.body, maxBytes);
  } catch (error) {
    signal.throwIfAborted();
    const isSafe = !isConnected || REPEATABLE.has(message.method);
    throw requestFailed(problemOf(error), isSafe && !isPermanent(error), error);
  } finally {
    signal.removeEventListener('abort', abort);
    request.destroy();
    await closed;
  }
}

function optionsFor(message: HttpMessage, addresses: readonly LookupAddress[]): RequestOptions {
  const { method, headers, body } = message;
  return {
    method,
    headers: {
      ...headers,
      'accept-encoding': ACCEPTED_ENCODINGS,
      ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }),
    },
    // A separate connection: none is left open, and none to an unchecked address is reused.
    agent: false,
    lookup: pinnedTo(addresses),
    maxHeaderSize: MAX_HEADER_BYTES,
    insecureHTTPParser: false,
  };
}

/** Resolves to the checked addresses, whatever the name resolves to now. */
function pinnedTo(addresses: readonly LookupAddress[]): LookupFunction {
  return (_host, options, callback) => {
    if (options.all) return callback(null, [...addresses]);
    const wanted = addresses.find(({ family }) => options.family === family) ?? addresses[0]!;
    callback(null, wanted.address, wanted.family);
  };
}

function answerTo(request: ClientRequest, body: string | undefined, maxBytes: number): Promise<Answer> {
  return new Promise((resolve, reject) => {
    // It stays until the end: an error after the response must not be uncaught.
    request.on('error', reject);
    let isAnswered = false;
    request.on('response', (response) => {
      isAnswered = true;
      const { statusCode: status = 0, headers } = response;
      readBody(response, maxBytes).then((read) => resolve({ status, headers, body: read }), reject);
    });
    request.on('close', () => {
      // A body may still be decompressed after its connection is closed.
      if (!isAnswered) reject(new Error('the connection was closed without a response'));
    });
    request.end(body);
  });
}

/** The server breaks the protocol or has a wrong identity: a retry would not help. */
function isPermanent(error: unknown): boolean {
  return /^(HPE_|Z_DATA|ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/.test(codeOf(error) ?? '');
}

function problemOf(error: unknown): string {
  const code = codeOf(error);
  const text =
    error instanceof AggregateError && error.message === '' ? 'no address answered' : messageOf(error);
  return code === undefined || text.includes(code) ? text : `${text} (${code})`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Runs something with a signal that aborts on timeout or when the caller aborts. */
export async function within<T>(
  timeoutMs: number,
  outer: AbortSignal,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  outer.throwIfAborted();
  const controller = new AbortController();
  const stop = () => controller.abort(outer.reason);
  const timer = setTimeout(() => {
    controller.abort(requestFailed(`it took longer than ${timeoutMs} ms`, true));
  }, timeoutMs);
  outer.addEventListener('abort', stop);
  try {
    return await run(controller.signal);
  } finally {
    clearTimeout(timer);
    outer.removeEventListener('abort', stop);
  }
}

/** Waits for something that cannot be interrupted, no longer than the signal allows; a later result is dropped. */
export async function unlessAborted<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  let stop = () => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener('abort', stop);
    if (signal.aborted) stop();
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** A request without a complete response. */
/** Without a network, every request fails alike. */
const OFFLINE: ReadonlySet<string> = new Set(['EAI_AGAIN', 'ENETUNREACH', 'ENETDOWN']);

export function requestFailed(problem: string, mayBeRetried: boolean, cause?: unknown): Error {
  const message = `The request failed: ${problem}.`;
  if (!mayBeRetried) return refusal('REQUEST_FAILED', message, {}, cause);
  const error = new VolleyError('REQUEST_FAILED', message, {}, cause === undefined ? undefined : { cause });
  if (!OFFLINE.has(codeOf(cause) ?? '')) return error;
  return new OutageError(message, { kind: 'network', scope: 'network', cause: error });
}
