import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { HttpSettings } from '../../../src/tools/builtin/environment.ts';
import { httpRequestTool } from '../../../src/tools/builtin/http-request.ts';
import { call, environment } from './support/file-tools.ts';
import { bodyOf, serve, serveRaw } from './support/web.ts';

const tool = (settings: Partial<HttpSettings> = {}) => httpRequestTool(environment([], { http: settings }));
const send = (input: object, settings?: Partial<HttpSettings>) => call(tool(settings), input);

describe('http_request', () => {
  it('gives status, headers, body and where it came from', async () => {
    const url = await serve((_, response) => {
      response.writeHead(404, { 'content-type': 'text/plain', 'set-cookie': ['a=1', 'b=2'], 'x-one': '1' });
      response.end('grüße');
    });
    expect(await send({ url: `${url}/path?q=1` })).toMatchObject({
      status: 404,
      headers: { 'content-type': 'text/plain', 'set-cookie': ['a=1', 'b=2'], 'x-one': '1' },
      body: 'grüße',
      encoding: 'text',
      url: `${url}/path?q=1`,
      redirects: 0,
      truncated: false,
    });
  });

  it('waits for a limit only if it is asked to, for as long as the server says', async () => {
    const headers = [{ 'retry-after': '7' }, {}, { 'retry-after': '7' }, {}];
    const statuses = [429, 429, 503, 503];
    const url = await serve(({ url: path }, response) => {
      const place = Number(path!.slice(1));
      response.writeHead(statuses[place]!, headers[place]).end();
    });
    expect(await send({ url: `${url}/0` })).toMatchObject({ status: 429 });
    const { host } = new URL(url);
    const limit = { scope: `host:${host}` };
    const ask = (place: number) => send({ url: `${url}/${place}`, wait_for_limit: true });
    await expect(ask(0)).rejects.toMatchObject({ limit: { ...limit, retryAfterMs: 7000 } });
    await expect(ask(1)).rejects.toMatchObject({ limit });
    await expect(ask(2)).rejects.toMatchObject({ limit: { ...limit, retryAfterMs: 7000 } });
    expect(await ask(3)).toMatchObject({ status: 503 });
    expect(tool().quota).toBeTypeOf('function');
  });

  it('sends method, headers and body', async () => {
    const url = await serve(async (request, response) => {
      const { method, headers } = request;
      response.end(
        JSON.stringify({
          method,
          body: await bodyOf(request),
          type: headers['content-type'],
          key: headers['x-key'],
          length: headers['content-length'],
        }),
      );
    });
    const headers = { 'Content-Type': 'text/x', 'X-Key': 'k' };
    const answer = await send({ url, method: 'PUT', headers, body: 'grüße' });
    expect(JSON.parse(answer.body)).toEqual({
      method: 'PUT',
      body: 'grüße',
      type: 'text/x',
      key: 'k',
      length: '7',
    });
  });

  it('gives what is no text as base64, and text in other character sets as text', async () => {
    const url = await serve((request, response) => {
      const isBinary = request.url === '/binary';
      response.setHeader('content-type', isBinary ? 'image/png' : 'text/plain; charset=iso-8859-1');
      response.end(isBinary ? Buffer.from([0, 255, 1]) : Buffer.from([0xe9]));
    });
    const binary = { body: Buffer.from([0, 255, 1]).toString('base64'), encoding: 'base64' };
    expect(await send({ url: `${url}/binary` })).toMatchObject(binary);
    expect(await send({ url: `${url}/latin` })).toMatchObject({ body: 'é', encoding: 'text' });
  });

  it.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
  ])('unpacks %s, and an empty body said to be such', async (encoding, pack) => {
    const url = await serve((request, response) => {
      response.setHeader('content-encoding', encoding);
      response.end(
        request.url === '/empty' || request.method === 'HEAD' ? undefined : pack('hello'.repeat(100)),
      );
    });
    expect(await send({ url })).toMatchObject({ body: 'hello'.repeat(100), truncated: false });
    expect(await send({ url: `${url}/empty` })).toMatchObject({ body: '', truncated: false });
    expect(await send({ url, method: 'HEAD' })).toMatchObject({ status: 200, body: '' });
  });

  it('reads no more than the limit, between characters, and closes the connection', async () => {
    let closed: Promise<unknown> | undefined;
    const url = await serve((request, response) => {
      closed = new Promise((resolve) => request.socket.on('close', resolve));
      const more = () => {
        while (response.write('€'.repeat(1000)));
      };
      response.on('drain', more);
      more();
    });
    const answer = await send({ url, max_bytes: 10_000 });
    expect(answer).toMatchObject({ body: '€'.repeat(3333), encoding: 'text', truncated: true });
    await closed;
  });

  it.each([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
  ])('stops unpacking a bomb at the limit: %s', async (encoding, pack) => {
    const bomb = pack(Buffer.alloc(20_000_000, 'x'));
    const url = await serve((_, response) => {
      response.setHeader('content-encoding', encoding);
      response.end(bomb);
    });
    expect(await send({ url }, { maxBytes: 100_000 })).toMatchObject({
      body: 'x'.repeat(100_000),
      truncated: true,
    });
  });

  it('puts a long answer together, however it is cut', async () => {
    const text = Array.from({ length: 50_000 }, (_, index) => `${index},`).join('');
    const url = await serve((_, response) => {
      for (let at = 0; at < 2000; at++) response.write(text.slice(at, at + 1));
      response.end(text.slice(2000));
    });
    expect((await send({ url })).body).toBe(text);
    const cut = await send({ url, max_bytes: 200_000 });
    expect([cut.body, cut.truncated]).toEqual([text.slice(0, 200_000), true]);
    const whole = await send({ url, max_bytes: text.length });
    expect([whole.body.length, whole.truncated]).toEqual([text.length, false]);
  });

  it('limits what is packed too', async () => {
    const url = await serve((_, response) => {
      response.setHeader('content-encoding', 'gzip');
      // Packed blocks that hold nothing, without an end.
      response.write(gzipSync('').subarray(0, 10));
      const more = () => {
        while (response.write(Buffer.from([0, 0, 0, 0xff, 0xff])));
      };
      response.on('drain', more);
      more();
    });
    expect(await send({ url, max_bytes: 5000 })).toMatchObject({ body: '', truncated: true });
  });

  it('ends when its time is over, wherever it hangs', async () => {
    const silent = await serveRaw(() => {});
    const dripping = await serve((_, response) => {
      response.write('begin');
    });
    const looping = await serve((_, response) => {
      setTimeout(() => response.writeHead(302, { location: '/' }).end(), 30);
    });
    const late = { code: 'REQUEST_FAILED', message: 'The request failed: it took longer than 150 ms.' };
    for (const url of [silent, dripping, looping]) {
      await expect(send({ url, timeout_ms: 150 }, { maxRedirects: 1000 })).rejects.toMatchObject(late);
    }
    const hanging = httpRequestTool(environment([]), () => new Promise(() => {}));
    await expect(call(hanging, { url: 'http://a.example/', timeout_ms: 150 })).rejects.toMatchObject(late);
  });

  it('ends when it is aborted, and its connection with it', async () => {
    const controller = new AbortController();
    const reason = new Error('stop');
    let closed: Promise<unknown> | undefined;
    const url = await serveRaw((socket) => {
      closed = new Promise((resolve) => socket.on('close', resolve));
      controller.abort(reason);
    });
    await expect(call(tool(), { url }, controller.signal)).rejects.toBe(reason);
    await closed;
    await expect(call(tool(), { url }, AbortSignal.abort(reason))).rejects.toBe(reason);
  });

  it('may be tried again after a broken connection, unless that could do something twice', async () => {
    const url = await serveRaw((socket) => socket.once('data', () => socket.resetAndDestroy()));
    const retryable = async (input: object) => {
      const error = await send(input).catch((error: unknown) => error);
      expect(error).toMatchObject({ code: 'REQUEST_FAILED' });
      return (error as { retryable?: boolean }).retryable !== false;
    };
    expect(await retryable({ url })).toBe(true);
    expect(await retryable({ url, method: 'PUT', body: 'x' })).toBe(true);
    expect(await retryable({ url, method: 'POST', body: 'x' })).toBe(false);
    // Port 9 is for nobody: the connection is refused, so nothing was done.
    expect(await retryable({ url: 'http://127.0.0.1:9/', method: 'POST', body: 'x' })).toBe(true);
  });

  it.each([
    ['no HTTP', 'garbage\r\n\r\n'],
    ['too many headers', `HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(10_000)}\r\n`],
    [
      'both a length and chunks',
      'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    [
      'a packed body that is none',
      'HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 4\r\n\r\nnope',
    ],
  ])('fails for good when the answer is wrong: %s', async (_, answer) => {
    const url = await serveRaw((socket) => socket.end(answer));
    await expect(send({ url })).rejects.toMatchObject({ code: 'REQUEST_FAILED', retryable: false });
  });

  it('fails when the answer ends before it is complete', async () => {
    const url = await serveRaw((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort'));
    await expect(send({ url })).rejects.toMatchObject({ code: 'REQUEST_FAILED' });
  });

  it('keeps no connection open', async () => {
    const open = new Set<object>();
    let most = 0;
    const url = await serve((request, response) => {
      open.add(request.socket);
      most = Math.max(most, open.size);
      request.socket.once('close', () => open.delete(request.socket));
      response.end('x');
    });
    for (let round = 0; round < 5; round++) await send({ url });
    await expect.poll(() => open.size).toBe(0);
    expect(most).toBeGreaterThan(0);
  });

  it.each([
    [{ url: 'ftp://a.example/' }, '/url must begin with http'],
    [{ url: 'file:///etc/passwd' }, '/url must begin with http'],
    [{ url: '/path' }, '/url must be an absolute URL'],
    [{ url: 'http://user:secret@a.example/' }, '/url must not contain a user name'],
    [{ url: 'http://a.example/', headers: { Host: 'b' } }, '/headers/Host may not be set'],
    [{ url: 'http://a.example/', headers: { 'content-LENGTH': '5' } }, 'may not be set'],
    [{ url: 'http://a.example/', headers: { 'Transfer-Encoding': 'chunked' } }, 'may not be set'],
    [{ url: 'http://a.example/', headers: { connection: 'keep-alive' } }, 'may not be set'],
    [{ url: 'http://a.example/', headers: { 'Proxy-Authorization': 'x' } }, 'may not be set'],
    [
      { url: 'http://a.example/', headers: { 'x-a': 'b\r\nHost: c' } },
      '/headers/x-a has a value with a line break',
    ],
    [{ url: 'http://a.example/', headers: { 'x-a': 'b\nc' } }, 'has a value with a line break'],
    [{ url: 'http://a.example/', headers: { 'x-a': 'b\0' } }, 'has a value with'],
    [{ url: 'http://a.example/', headers: { 'x a': 'b' } }, 'is not a valid header name'],
    [{ url: 'http://a.example/', headers: { 'x:a': 'b' } }, 'is not a valid header name'],
    [{ url: 'http://a.example/', headers: { 'x-a': 'b', 'X-A': 'c' } }, 'stands twice'],
    [{ url: 'http://a.example/', headers: { 'x-a': 'b'.repeat(20_000) } }, 'bytes together'],
    [{ url: 'http://a.example/', method: 'TRACE' }, '/method'],
    [{ url: 'http://a.example/', method: 'CONNECT' }, '/method'],
    [{ url: 'http://a.example/', body: 'x' }, '/body cannot be sent with GET'],
    [{ url: 'http://a.example/', method: 'POST', body: 'x'.repeat(1_000_001) }, '/body must be at most'],
    [{ url: 'http://a.example/', timeout_ms: 60_000 }, '/timeout_ms'],
    [{ url: 'http://a.example/', max_bytes: 2_000_000 }, '/max_bytes'],
    [{ url: 'http://a.example/', proxy: 'x' }, 'proxy'],
  ])('refuses the arguments %j', async (input, rule) => {
    await expect(send(input)).rejects.toThrow(rule);
  });

  it('says truly what it is', () => {
    const { readOnly, idempotent, dedupe, resources } = tool({ maxBytes: 2 ** 20 });
    expect([readOnly, idempotent, dedupe]).toEqual([false, false, false]);
    const needs = (resources as (input: object) => object)({ max_bytes: 2 ** 20 });
    expect(needs).toEqual({ cpu: 0.1, memoryMb: 5, io: 'none', network: true });
  });
});
