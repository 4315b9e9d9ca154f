import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';

const LONGEST_START_MS = 30_000;

/** A Redis server of its own, on a port of this machine and behind a socket file. */
export interface OwnRedis {
  readonly url: string;
  readonly socket: string;
  /** The folder of its data. */
  readonly folder: string;
  /** Kills it without a word. Its data stays. */
  kill(): Promise<void>;
  /** Starts it again with the same data. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts a server that keeps a log which reaches the disk every second (`appendonly`, `everysec`): a queue that must
 * survive needs that, and it is what its documentation recommends. Other settings are arguments such as `--maxmemory 1gb`.
 */
export async function startRedis(...settings: string[]): Promise<OwnRedis> {
  const folder = mkdtempSync(join(tmpdir(), 'volley-redis-'));
  const socket = join(folder, 'redis.sock');
  const port = await freePort();
  let server: ChildProcess | undefined;
  const end = async (signal: NodeJS.Signals) => {
    const ending = server;
    server = undefined;
    if (ending === undefined) return;
    const ended = once(ending, 'exit');
    ending.kill(signal);
    await ended;
  };
  const start = async () => {
    const place = ['--port', String(port), '--bind', '127.0.0.1', '--unixsocket', socket, '--dir', folder];
    server = spawn(
      'redis-server',
      [...place, '--save', '', '--appendonly', 'yes', '--appendfsync', 'everysec', ...settings],
      {
        stdio: 'ignore',
      },
    );
    await untilReady(socket);
  };
  await start();
  return {
    url: `redis://127.0.0.1:${port}`,
    socket,
    folder,
    start,
    kill: () => end('SIGKILL'),
    stop: async () => {
      await end('SIGTERM');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function untilReady(socket: string): Promise<void> {
  for (const start = performance.now(); ; await sleep(20)) {
    const redis = new Redis({ path: socket, lazyConnect: true, retryStrategy: () => null });
    redis.on('error', () => {});
    try {
      await redis.connect();
      await redis.ping();
      return;
    } catch (error) {
      if (performance.now() - start > LONGEST_START_MS) throw error;
    } finally {
      redis.disconnect();
    }
  }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
