import type { LookupAddress } from 'node:dns';
import {
  type ClientRequest,
  type IncomingMessage,
  type RequestOptions,
  request as requestHttp,
} from 'node:http';
import { request as requestHttps } from 'node:https';
import type { LookupFunction } from 'node:net';
import { codeOf } from '../refusal.ts';
import { ACCEPTED_ENCODINGS, type Body, readBody } from './body.ts';
import { requestFailed } from './failures.ts';
import type { HttpMessage } from './redirects.ts';

/** One answer. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Body;
}

const MAX_HEADER_BYTES = 16 * 1024;
/** Doing these twice is the same as doing them once. */
const REPEATABLE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']);

/** Sends one request to one of the addresses, and settles when its connection is gone. */
export async function exchange(
  message: HttpMessage,
  addresses: readonly LookupAddress[],
  maxBytes: number,
  signal: AbortSignal,
): Promise<Answer> {
  signal.throwIfAborted();
  const request = (message.url.protocol === 'https:' ? requestHttps : requestHttp)(
    message.url,
    optionsFor(message, addresses),
  );
  const closed = new Promise<void>((resolve) => request.on('close', resolve));
  // From then on the other side may have acted on it.
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
    // A connection of its own: none is left over, and none to an address that was not checked is taken.
    agent: false,
    lookup: pinnedTo(addresses),
    maxHeaderSize: MAX_HEADER_BYTES,
    insecureHTTPParser: false,
  };
}

/** Answers with the addresses that were checked, whatever the name means by now. */
function pinnedTo(addresses: readonly LookupAddress[]): LookupFunction {
  return (_host, options, callback) => {
    if (options.all) return callback(null, [...addresses]);
    const wanted = addresses.find(({ family }) => options.family === family) ?? addresses[0]!;
    callback(null, wanted.address, wanted.family);
  };
}

function answerTo(request: ClientRequest, body: string | undefined, maxBytes: number): Promise<Answer> {
  return new Promise((resolve, reject) => {
    // It stays until the end: an error that comes after the answer must not be an uncaught one.
    request.on('error', reject);
    let isAnswered = false;
    request.on('response', (response) => {
      isAnswered = true;
      const { statusCode: status = 0, headers } = response;
      readBody(response, maxBytes).then((read) => resolve({ status, headers, body: read }), reject);
    });
    request.on('close', () => {
      // A body may still be unpacked when its connection is gone.
      if (!isAnswered) reject(new Error('the connection was closed without an answer'));
    });
    request.end(body);
  });
}

/** The other side breaks the protocol, or is not who it should be: it will again. */
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
