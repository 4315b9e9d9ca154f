import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import type { Duplex } from 'node:stream';
import { connect } from 'node:tls';
import { VolleyError } from '../core/errors.ts';
import { isSameSecret, proofOf } from './auth/secrets.ts';
import type { ServerRecord } from './server-record.ts';

/** A server that does not answer a health check within this time is considered hung. */
const SIGN_OF_LIFE_MS = 5000;

/**
 * Asks a server of the same user for an object with these fields. There is no timeout, because some requests wait for
 * the end of a batch.
 */
export async function callServer<T extends object>(
  server: ServerRecord,
  path: string,
  fields: readonly (keyof T & string)[],
  body?: unknown,
): Promise<T> {
  await answerOf(server, 'GET', '/healthz', undefined, AbortSignal.timeout(SIGN_OF_LIFE_MS));
  const answer = await answerOf(server, 'POST', path, body === undefined ? undefined : JSON.stringify(body));
  const found = (answer ?? {}) as Readonly<Record<string, unknown>>;
  if (fields.some((name) => found[name] === undefined || found[name] === null))
    throw unreachable(server, 'its answer is not from Volley');
  return answer as T;
}

/** Whether the server of a record answers at its address. The token is never sent to another program. */
export async function isAnswering(server: ServerRecord): Promise<boolean> {
  const challenge = randomBytes(32).toString('hex');
  try {
    const path = `/healthz?challenge=${challenge}`;
    const unknown = { ...server, token: undefined };
    const answer = await answerOf(unknown, 'GET', path, undefined, AbortSignal.timeout(SIGN_OF_LIFE_MS));
    const { proof } = (answer ?? {}) as { readonly proof?: unknown };
    return isSameSecret(Buffer.from(String(proof)), Buffer.from(proofOf(server.token, challenge)));
  } catch {
    return false;
  }
}

/** A server to ask. There is no token if the server is not verified. */
type Asked = Omit<ServerRecord, 'token'> & { readonly token: string | undefined };

async function answerOf(
  server: Asked,
  method: string,
  path: string,
  sentText?: string,
  signal?: AbortSignal,
): Promise<unknown> {
  let answer: IncomingMessage;
  let text = '';
  try {
    const sent = await send(server, method, path, sentText, signal);
    [answer] = (await once(sent, 'response')) as [IncomingMessage];
    answer.setEncoding('utf8');
    for await (const chunk of answer) text += chunk;
  } catch (error) {
    if (signal?.aborted) throw unreachable(server, 'it does not answer', { code: 'ETIMEDOUT' });
    throw unreachable(server, (error as Error).message, { code: (error as NodeJS.ErrnoException).code });
  }
  const data = parsed(server, text);
  if (answer.statusCode! < 300) return data;
  const { detail } = (data ?? {}) as { detail?: unknown };
  throw unreachable(server, typeof detail === 'string' ? detail : `HTTP ${answer.statusCode}`, {
    status: answer.statusCode,
  });
}

async function send(
  server: Asked,
  method: string,
  path: string,
  text: string | undefined,
  signal: AbortSignal | undefined,
): Promise<ClientRequest> {
  const { hostname, port, host, protocol } = new URL(server.address);
  const socket =
    protocol === 'https:' ? await secureSocket(server, hostname, Number(port), signal) : undefined;
  const sent = request({
    host: hostname.replace(/^\[|\]$/g, ''),
    port,
    method,
    path,
    ...(signal !== undefined && { signal }),
    headers: {
      host,
      ...(server.token !== undefined && { authorization: `Bearer ${server.token}` }),
      ...(text !== undefined && {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(text),
      }),
    },
    ...(socket === undefined ? { agent: false } : { createConnection: () => socket }),
  });
  // The server may answer and hang up while this still sends: then its answer counts, not that.
  sent.on('error', () => {});
  sent.end(text);
  return sent;
}

/** The certificate must be the one in the server's record. Its names do not matter. */
async function secureSocket(
  { certificate }: Asked,
  host: string,
  port: number,
  signal: AbortSignal | undefined,
): Promise<Duplex> {
  const socket = connect({ host: host.replace(/^\[|\]$/g, ''), port, rejectUnauthorized: false });
  try {
    await once(socket, 'secureConnect', { signal });
  } catch (error) {
    socket.destroy();
    throw error;
  }
  if (socket.getPeerCertificate().fingerprint256 === certificate) return socket;
  socket.destroy();
  throw new Error('its certificate has changed');
}

function parsed(server: Asked, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw unreachable(server, 'its answer is not JSON');
  }
}

function unreachable({ address, pid }: Asked, problem: string, facts: object = {}): VolleyError {
  return new VolleyError(
    'SERVER_UNREACHABLE',
    `The server at ${address} (process ${pid}) failed: ${problem}.`.replace(/\.\.$/, '.'),
    { address, pid, ...facts },
  );
}
