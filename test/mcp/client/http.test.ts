import { randomUUID } from 'node:crypto';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import {
  createMcpHandler,
  McpServer,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { mcpHealth } from '../../../src/mcp/client/attach.ts';
import { until } from '../../support/until.ts';
import { httpServer, openWith, testFolder } from './support/open.ts';

type Fetch = (request: Request) => Promise<Response>;

interface Site {
  readonly url: string;
  readonly seen: IncomingHttpHeaders[];
  close(): Promise<void>;
}

async function listen(fetch: Fetch, port = 0): Promise<Site> {
  const seen: IncomingHttpHeaders[] = [];
  const answer = getRequestListener(fetch, { overrideGlobalObjects: false });
  const server = createServer((request, response) => {
    seen.push(request.headers);
    void answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  onTestFinished(close);
  const { port: taken } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${taken}/mcp`, seen, close };
}

const events: string[] = [];

function shop(): McpServer {
  const server = new McpServer({ name: 'shop', version: '1.0.0' });
  server.registerTool(
    'price',
    {
      description: 'A price.',
      inputSchema: z.object({ of: z.string() }),
      annotations: { readOnlyHint: true },
    },
    ({ of }) => ({ content: [{ type: 'text', text: `${of}: 3` }], structuredContent: { of, price: 3 } }),
  );
  server.registerTool(
    'queue',
    { description: 'Waits for ever.', inputSchema: z.object({}), annotations: { readOnlyHint: true } },
    async (_, { mcpReq }) => {
      events.push('queueing');
      await new Promise((resolve) => mcpReq.signal.addEventListener('abort', resolve));
      events.push('left');
      return { content: [] };
    },
  );
  return server;
}

/** A server of the older kind, which keeps sessions. */
function withSessions(): {
  fetch: Fetch;
  forget: () => void;
  sessions: () => number;
  server: () => McpServer;
} {
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
  let last: McpServer;
  return {
    forget: () => sessions.clear(),
    sessions: () => sessions.size,
    server: () => last,
    fetch: async (request) => {
      const id = request.headers.get('mcp-session-id');
      const known = id === null ? undefined : sessions.get(id);
      if (id !== null && known === undefined) return new Response('no such session', { status: 404 });
      if (known !== undefined) return known.handleRequest(request);
      const transport = new WebStandardStreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (made) => void sessions.set(made, transport),
        onsessionclosed: (made) => void sessions.delete(made),
      });
      last = shop();
      await last.connect(transport);
      return transport.handleRequest(request);
    },
  };
}

const price = { name: 'shop.price', arguments: { of: 'tea' } };

test('a server over HTTP is called with its headers, whose secrets come from the environment', async () => {
  const { fetch, close } = createMcpHandler(shop);
  onTestFinished(close);
  const site = await listen((request) => fetch(request));
  const headers = { Authorization: 'Bearer env:SHOP_PASS', 'X-Team': 'blue' };
  const coordinator = await openWith(
    testFolder(),
    { shop: httpServer(site.url, headers) },
    { env: { SHOP_PASS: 'very-secret-99' } },
  );
  const results = await coordinator.executeParallel(Array.from({ length: 20 }, () => price));
  for (const result of results)
    expect(result).toMatchObject({
      value: { source: 'mcp:shop.price', data: { of: 'tea', price: 3 }, text: 'tea: 3' },
    });
  for (const seen of site.seen)
    expect(seen).toMatchObject({ authorization: 'Bearer very-secret-99', 'x-team': 'blue' });
  expect(mcpHealth(coordinator)).toMatchObject([{ kind: 'http', status: 'ready', tools: 2 }]);
});

test('a cancellation reaches a server over HTTP, of the new kind and of the older', async () => {
  const modern = createMcpHandler(shop);
  onTestFinished(modern.close);
  for (const fetch of [modern.fetch, withSessions().fetch]) {
    events.length = 0;
    const site = await listen((request) => fetch(request));
    const coordinator = await openWith(testFolder(), { shop: httpServer(site.url) });
    const stopping = new AbortController();
    const running = coordinator.executeSingle({ name: 'shop.queue' }, { signal: stopping.signal });
    await until(() => events.includes('queueing'), 'the call');
    stopping.abort();
    expect(await running).toMatchObject({ status: 'cancelled' });
    await until(() => events.includes('left'), 'the cancellation');
  }
});

test('a session is begun once, begun anew when the server has forgotten it, and ended in the end', async () => {
  const { fetch, forget, sessions } = withSessions();
  const site = await listen(fetch);
  const coordinator = await openWith(testFolder(), { shop: httpServer(site.url) });
  const retry = { maxRetries: 3, delayMs: 10 };
  await coordinator.executeParallel([price, price, price]);
  expect(sessions()).toBe(1);
  forget();
  expect(await coordinator.executeSingle({ ...price, retry })).toMatchObject({
    status: 'completed',
    attempts: 2,
  });
  expect(sessions()).toBe(1);
  await coordinator.close();
  expect(sessions()).toBe(0);
});

test('a call that hears late that its session is gone does not end the new one', async () => {
  events.length = 0;
  const { fetch, forget } = withSessions();
  let answerLate = () => {};
  const late = new Promise<void>((resolve) => {
    answerLate = resolve;
  });
  const site = await listen(async (request) => {
    const isLate = request.method === 'POST' && (await request.clone().text()).includes('milk');
    if (isLate) events.push('held');
    // The old session is left only when the server has said goodbye: until then its calls can fail.
    if (isLate || request.method === 'DELETE') await late;
    return fetch(request);
  });
  const coordinator = await openWith(testFolder(), { shop: httpServer(site.url) });
  await coordinator.executeSingle(price);
  const slow = coordinator.executeSingle({ name: 'shop.price', arguments: { of: 'milk' } });
  await until(() => events.includes('held'), 'the first call');
  forget();
  const retry = { maxRetries: 3, delayMs: 10 };
  expect(await coordinator.executeSingle({ ...price, retry })).toMatchObject({ status: 'completed' });
  const stopping = new AbortController();
  const queueing = coordinator.executeSingle({ name: 'shop.queue' }, { signal: stopping.signal });
  await until(() => events.includes('queueing'), 'a call of the new session');
  answerLate();
  expect(await slow).toMatchObject({ status: 'failed', reason: 'crashed' });
  expect(mcpHealth(coordinator)).toMatchObject([{ status: 'ready', restarts: 1 }]);
  stopping.abort();
  expect(await queueing).toMatchObject({ status: 'cancelled' });
});

test('a call whose connection breaks fails at once, and not when its time is over', async () => {
  events.length = 0;
  const { fetch } = withSessions();
  const site = await listen(fetch);
  const coordinator = await openWith(testFolder(), { shop: httpServer(site.url) });
  const queueing = coordinator.executeSingle({ name: 'shop.queue' });
  await until(() => events.includes('queueing'), 'the call');
  await site.close();
  expect(await queueing).toMatchObject({
    status: 'failed',
    reason: 'crashed',
    error: {
      code: 'MCP_SERVER_FAILED',
      message: expect.stringContaining('shop.queue'),
    },
  });
});

test('an event that never ends is not read to its end', async () => {
  const { fetch } = withSessions();
  let lines = 0;
  const line = Buffer.from(`data: ${'x'.repeat(2 ** 18)}\n`);
  const endless = () =>
    new ReadableStream({
      pull: (controller) => {
        lines++;
        controller.enqueue(line);
      },
    });
  const site = await listen(async (request) => {
    const isEndless = request.method === 'POST' && (await request.clone().text()).includes('sea');
    if (!isEndless) return fetch(request);
    return new Response(endless(), { headers: { 'content-type': 'text/event-stream' } });
  });
  const coordinator = await openWith(testFolder(), { shop: httpServer(site.url) });
  const call = { name: 'shop.price', arguments: { of: 'sea' }, timeoutMs: 120_000 };
  expect(await coordinator.executeSingle(call)).toMatchObject({ status: 'failed', reason: 'crashed' });
  // As much as a message may have, and what is on its way.
  expect(lines).toBeLessThan(400);
});

test('tools that a server over HTTP brings later can be called', async () => {
  const { fetch, server } = withSessions();
  const site = await listen(fetch);
  const coordinator = await openWith(testFolder(), { shop: httpServer(site.url) });
  await coordinator.discover();
  server().registerTool('rent', { inputSchema: z.object({}), annotations: { readOnlyHint: true } }, () => ({
    content: [{ type: 'text', text: 'rented' }],
  }));
  await until(() => coordinator.tools('shop.rent').length === 1, 'the new tool');
  expect(await coordinator.executeSingle({ name: 'shop.rent' })).toMatchObject({ value: { text: 'rented' } });
});

test('a server that cannot be reached fails its calls, and is reached when it is back', async () => {
  const { fetch } = withSessions();
  const site = await listen(fetch);
  const coordinator = await openWith(testFolder(), { shop: httpServer(site.url) });
  await coordinator.executeSingle(price);
  await site.close();
  expect(await coordinator.executeSingle(price)).toMatchObject({
    status: 'failed',
    error: { code: 'MCP_SERVER_FAILED' },
  });
  expect(await coordinator.executeSingle(price)).toMatchObject({
    status: 'failed',
    error: {
      code: 'MCP_SERVER_FAILED',
      message: expect.stringContaining('ECONNREFUSED'),
    },
  });
  await listen(withSessions().fetch, Number(new URL(site.url).port));
  const deadline = performance.now() + 60_000;
  let last = await coordinator.executeSingle(price);
  while (last.status !== 'completed' && performance.now() < deadline)
    last = await coordinator.executeSingle(price);
  expect(last).toMatchObject({ status: 'completed' });
});
