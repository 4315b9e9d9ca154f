import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { expect, onTestFinished, test } from 'vitest';
import { limitUnread } from '../../src/server/http/limits.ts';
import { closed } from './support/serve.ts';

const MEGABYTE = 2 ** 20;
const PARTS = 64;

/** A server that writes a long answer without asking whether anybody reads it, as an MCP server does. */
async function listen() {
  let written = 0;
  let isCancelled = false;
  const source = () =>
    new ReadableStream<Uint8Array>({
      start: (controller) => {
        const write = async () => {
          for (; written < PARTS && !isCancelled; written++) {
            controller.enqueue(new Uint8Array(MEGABYTE));
            // However slow the machine is, a client that reads gets to it.
            for (let turn = 0; turn < 20; turn++) await nextTurn();
          }
          if (!isCancelled) controller.close();
        };
        void write();
      },
      cancel: () => {
        isCancelled = true;
      },
    });
  const server = createServer(
    getRequestListener(
      (_, env) => limitUnread(new Response(source(), { status: 201 }), (env as HttpBindings).outgoing),
      { overrideGlobalObjects: false },
    ),
  );
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return { port, written: () => written, isCancelled: () => isCancelled };
}

test('a client that reads gets the whole of a long answer', async () => {
  const { port, isCancelled } = await listen();
  const response = await fetch(`http://127.0.0.1:${port}`);
  expect(response.status).toBe(201);
  expect((await response.arrayBuffer()).byteLength).toBe(PARTS * MEGABYTE);
  expect(isCancelled()).toBe(false);
});

test('a client that leaves too much unread loses its connection, and the answer is written no further', async () => {
  const { port, written, isCancelled } = await listen();
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => undefined).write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await expect.poll(isCancelled).toBe(true);
  expect(written()).toBeGreaterThan(30);
  expect(written()).toBeLessThan(PARTS);
  socket.resume();
  await closed(socket);
});
