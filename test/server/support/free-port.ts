import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Below those that systems give away by chance: nobody else gets it while the server is away. */
const PORTS = [10_000, 32_768] as const;

/** A port that nobody listens on, for a server that will come back to it. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(...PORTS);
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const isListening = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true));
  });
  if (isListening) await new Promise((resolve) => server.close(resolve));
  return isListening;
}
