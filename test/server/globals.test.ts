import { getRequestListener } from '@hono/node-server';
import { expect, test } from 'vitest';

const own = { Request, Response };

function takeBackGlobals(): void {
  for (const [name, value] of Object.entries(own)) Object.defineProperty(globalThis, name, { value });
}

test('streams are answered in a process in which Hono was used before Volley was loaded', async () => {
  getRequestListener(() => new Response('somebody else'));
  expect(Response).not.toBe(own.Response);
  try {
    const { serve } = await import('./support/serve.ts');
    const served = await serve();
    const stream = (await served.fetch('/v1/events')).text();
    await served.server.close();
    expect(await stream).toMatch(/event: snapshot\n.*event: end\ndata: {"reason":"shutdown"}\n\n$/s);
  } finally {
    takeBackGlobals();
  }
});

test('a server leaves the globals of its process as they are', async () => {
  const { serve } = await import('./support/serve.ts');
  const served = await serve();
  expect((await served.json('GET', '/v1/tools')).status).toBe(200);
  expect(Request).toBe(own.Request);
  expect(Response).toBe(own.Response);
});
