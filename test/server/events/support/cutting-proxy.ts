import type { AddressInfo } from 'node:net';
import { connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export interface CuttingProxy {
  readonly address: string;
  /** How many connections it has passed on so far. */
  count(): number;
  /** Breaks all connections that are open; new ones are passed on as before. */
  cut(): void;
}

/** Stands between clients and a server on loopback, which notices nothing but that connections end. */
export async function openProxy(target: number): Promise<CuttingProxy> {
  const open = new Set<Socket>();
  let count = 0;
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    count++;
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(socket);
      socket
        .on('error', () => undefined)
        .on('close', () => {
          open.delete(socket);
          other.destroy();
        });
      socket.pipe(other);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = () => {
    for (const socket of open) socket.destroy();
  };
  onTestFinished(async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    cut();
    await closed;
  });
  const { port } = server.address() as AddressInfo;
  return { address: `http://127.0.0.1:${port}`, count: () => count, cut };
}
