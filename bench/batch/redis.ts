import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { temporaryFolder } from './folder.ts';
import { untilReady } from './until-ready.ts';

/**
 * A Redis of its own behind a socket file. It keeps a log that reaches the disk every second (`appendonly`, `everysec`):
 * a queue that must survive needs that, and it is what its documentation recommends.
 */
export async function startRedis(): Promise<{ socket: string; stop(): Promise<void> }> {
  const folder = temporaryFolder();
  const socket = join(folder.path, 'redis.sock');
  const settings = ['--port', '0', '--unixsocket', socket, '--dir', folder.path, '--save', ''];
  const server = spawn('redis-server', [...settings, '--appendonly', 'yes', '--appendfsync', 'everysec'], {
    stdio: 'ignore',
  });
  const ended = once(server, 'exit');
  await untilReady(async () => {
    const redis = new Redis({ path: socket, lazyConnect: true, retryStrategy: () => null });
    redis.on('error', () => {});
    try {
      await redis.connect();
      await redis.ping();
    } finally {
      redis.disconnect();
    }
  });
  return {
    socket,
    async stop() {
      server.kill('SIGTERM');
      await ended;
      folder.remove();
    },
  };
}
