import type { AddressInfo } from 'node:net';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import type { HttpServer } from './input.ts';

/** The least that hono does: no token, no check, no batch. */
export async function openServer(): Promise<HttpServer> {
  const app = new Hono();
  app.get('/', (context) => context.json({}));
  let server: ReturnType<typeof serve>;
  const port = await new Promise<number>((resolve) => {
    server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, (info: AddressInfo) =>
      resolve(info.port),
    );
  });
  return {
    port,
    path: '/',
    token: undefined,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
