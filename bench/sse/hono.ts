import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type HttpBindings, serve } from '@hono/node-server';
import { Hono } from 'hono';
import { type SSEStreamingApi, streamSSE } from 'hono/streaming';
import type { EventServer } from './input.ts';

export async function openServer(): Promise<EventServer> {
  const app = new Hono<{ Bindings: HttpBindings }>();
  const streams: SSEStreamingApi[] = [];
  const responses: ServerResponse[] = [];
  app.get('/', (context) => {
    responses.push(context.env.outgoing as ServerResponse);
    return streamSSE(context, async (stream) => {
      await stream.writeSSE({ data: 'hello' });
      streams.push(stream);
      await new Promise((resolve) => stream.onAbort(() => resolve(undefined)));
    });
  });
  const port = await new Promise<number>((resolve) => {
    serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, (info: AddressInfo) => resolve(info.port));
  });
  return {
    port,
    responses,
    publish: async (event) => {
      const message = { id: String(event.seq), event: 'task', data: JSON.stringify(event) };
      await Promise.all(streams.map((stream) => stream.writeSSE(message)));
    },
    check: () => undefined,
  };
}
