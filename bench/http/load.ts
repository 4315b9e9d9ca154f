import { fork, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { HttpServer } from './input.ts';

const CLIENTS = fileURLToPath(new URL('./clients.ts', import.meta.url));
const CONNECTIONS = 16;
/** So many requests stand for a second where wrk is missing. */
const REQUESTS_PER_SECOND = 10_000;

export interface Answered {
  readonly requests: number;
  readonly perSecond: number;
}

/** Whether wrk is here; if not, connections of a process of Node send the requests, which takes a core of its own. */
export const hasWrk = spawnSync('wrk', ['--version']).error === undefined;

/** Asks on 16 connections, each again as soon as it is answered, for about so long. */
export function load(server: HttpServer, seconds: number): Promise<Answered> {
  return hasWrk ? byWrk(server, seconds) : byNode(server, seconds * REQUESTS_PER_SECOND);
}

async function byWrk({ port, path, token }: HttpServer, seconds: number): Promise<Answered> {
  const child = spawn(
    'wrk',
    [
      ...['--threads', '1', '--connections', String(CONNECTIONS), '--duration', `${seconds}s`],
      ...(token === undefined ? [] : ['--header', `Authorization: Bearer ${token}`]),
      `http://127.0.0.1:${port}${path}`,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  await once(child, 'close');
  const requests = Number(/(\d+) requests in/.exec(text)?.[1]);
  const perSecond = Number(/Requests\/sec:\s+([\d.]+)/.exec(text)?.[1]);
  if (!(perSecond > 0) || text.includes('Non-2xx') || text.includes('Socket errors'))
    throw new Error(`wrk says: ${text}`);
  return { requests, perSecond };
}

async function byNode({ port, path, token }: HttpServer, requests: number): Promise<Answered> {
  const args = [port, path, CONNECTIONS, requests, ...(token === undefined ? [] : [token])].map(String);
  const clients = fork(CLIENTS, args);
  const [{ ms }] = (await once(clients, 'message')) as [{ ms: number }];
  return { requests, perSecond: (requests * 1000) / ms };
}
