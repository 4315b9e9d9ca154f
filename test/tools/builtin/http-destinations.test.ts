import { describe, expect, it } from 'vitest';
import type { HttpSettings } from '../../../src/tools/builtin/environment.ts';
import type { Resolve } from '../../../src/tools/builtin/http-destination.ts';
import { httpRequestTool } from '../../../src/tools/builtin/http-request.ts';
import { call, environment } from './support/file-tools.ts';
import { serve } from './support/web.ts';

const NOT_ALLOWED = { code: 'ADDRESS_NOT_ALLOWED', retryable: false };

function sending(settings: Partial<HttpSettings>, resolve?: Resolve) {
  const tool = httpRequestTool(environment([], { http: settings }), resolve);
  return (input: object) => call(tool, input);
}

/** A server that must not be asked. */
async function untouchable(): Promise<{ port: string; asked: () => number }> {
  let count = 0;
  const url = await serve((_, response) => {
    count++;
    response.end('secret');
  });
  return { port: new URL(url).port, asked: () => count };
}

describe('a private address', () => {
  it.each([
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f000001',
    '0x7f.1',
    '0177.0.0.1',
    '017700000001',
    '0',
    '0.0.0.0',
    '１２７.０.０.１',
    '127。0。0。1',
    '%31%32%37.0.0.1',
    '[::1]',
    '[::]',
    '[0:0:0:0:0:0:0:1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::127.0.0.1]',
    '[64:ff9b::7f00:1]',
    '[2002:7f00:1::]',
    '10.1.2.3',
    '172.20.0.1',
    '192.168.0.1',
    '169.254.169.254',
    '100.100.100.200',
    '[fd00:ec2::254]',
    '[fe80::1]',
    'localhost',
    'LOCALHOST.',
  ])('is refused in whatever form: %s', async (host) => {
    const { port, asked } = await untouchable();
    await expect(sending({ allowPrivate: false })({ url: `http://${host}:${port}/` })).rejects.toMatchObject(
      NOT_ALLOWED,
    );
    expect(asked()).toBe(0);
  });

  it('is refused behind a name, also if only one of its addresses is private', async () => {
    const { port, asked } = await untouchable();
    const addresses = [
      [{ address: '127.0.0.1', family: 4 }],
      [{ address: '::ffff:127.0.0.1', family: 6 }],
      [
        { address: '93.184.215.14', family: 4 },
        { address: '10.0.0.1', family: 4 },
      ],
    ];
    for (const list of addresses) {
      const send = sending({ allowPrivate: false }, async () => list);
      await expect(send({ url: `http://public.example:${port}/` })).rejects.toMatchObject(NOT_ALLOWED);
    }
    expect(asked()).toBe(0);
  });

  it.each([
    'http://127.0.0.1',
    'http://0x7f.1',
    'http://[::1]',
    'http://[::ffff:127.0.0.1]',
    'http://bad.example',
  ])('is refused as the target of a redirect: %s', async (target) => {
    const { port, asked } = await untouchable();
    const url = await serve((_, response) =>
      response.writeHead(302, { location: `${target}:${port}/` }).end(),
    );
    // The first server stands for a public one, though the test can have it on loopback only.
    let questions = 0;
    const settings = environment([]);
    const http = Object.defineProperty({ ...settings.http }, 'allowPrivate', {
      get: () => questions++ === 0,
    });
    const tool = httpRequestTool({ ...settings, http }, async () => [{ address: '127.0.0.1', family: 4 }]);
    await expect(call(tool, { url })).rejects.toMatchObject({
      ...NOT_ALLOWED,
      message: expect.stringContaining('loopback'),
    });
    expect([questions, asked()]).toEqual([2, 0]);
  });

  it('may be asked where the settings allow it, by address and by name', async () => {
    const url = await serve((_, response) => response.end('ok'));
    expect(await sending({ allowPrivate: true })({ url })).toMatchObject({ body: 'ok' });
    const named = url.replace('127.0.0.1', 'localhost');
    expect(await sending({ allowPrivate: true })({ url: named })).toMatchObject({
      body: 'ok',
      url: `${named}/`,
    });
  });
});

describe('a name', () => {
  it('is looked up once, and the address that was checked is the one that is asked', async () => {
    const url = await serve((request, response) => response.end(request.headers.host));
    const { port } = new URL(url);
    let lookups = 0;
    // A second look-up would lead somewhere else.
    const send = sending({}, async () => [
      { address: ++lookups === 1 ? '127.0.0.1' : '127.0.0.2', family: 4 },
    ]);
    expect(await send({ url: `http://a.example:${port}/` })).toMatchObject({ body: `a.example:${port}` });
    expect(lookups).toBe(1);
  });

  it('must be one that the settings allow, on every redirect too', async () => {
    const url = await serve((_, response) =>
      response.writeHead(302, { location: 'http://c.other.example/' }).end(),
    );
    const { port } = new URL(url);
    const send = sending({ allowHosts: ['*.good.example', 'exact.example'] }, async () => [
      { address: '127.0.0.1', family: 4 },
    ]);
    for (const host of [
      'good.example',
      'a.good.example.bad',
      'exact.example.bad',
      'xexact.example',
      '127.0.0.1',
    ]) {
      await expect(send({ url: `http://${host}:${port}/` })).rejects.toMatchObject(NOT_ALLOWED);
    }
    await expect(send({ url: `http://a.good.example:${port}/` })).rejects.toThrow('"c.other.example"');
    const still = { url: `http://EXACT.example:${port}/`, follow_redirects: false };
    expect(await send(still)).toMatchObject({ status: 302, redirects: 0 });
  });

  it('that does not exist fails, for good or for now', async () => {
    const failing = (code: string) =>
      sending({}, () => Promise.reject(Object.assign(new Error(code), { code })))({
        url: 'http://a.example/',
      });
    await expect(failing('ENOTFOUND')).rejects.toMatchObject({ code: 'REQUEST_FAILED', retryable: false });
    await expect(failing('EAI_AGAIN')).rejects.toMatchObject({
      outage: { kind: 'network' },
      retryable: true,
    });
  });
});

describe('redirects', () => {
  it('are followed up to their limit', async () => {
    const url = await serve((request, response) => {
      const left = Number(request.url!.slice(1));
      if (left === 0) response.end('there');
      else response.writeHead(302, { location: `/${left - 1}` }).end();
    });
    const send = sending({ maxRedirects: 3 });
    expect(await send({ url: `${url}/3` })).toMatchObject({ body: 'there', redirects: 3, url: `${url}/0` });
    await expect(send({ url: `${url}/4` })).rejects.toMatchObject({
      code: 'REQUEST_FAILED',
      message: expect.stringContaining('3 times'),
      retryable: false,
    });
  });

  it('carry no key to another origin', async () => {
    let received: object = {};
    const second = await serve((request, response) => {
      received = request.headers;
      response.end();
    });
    const first = await serve((_, response) => response.writeHead(307, { location: second }).end());
    const headers = { authorization: 'Bearer x', cookie: 'a=b', 'x-api-key': 'k', accept: 'text/html' };
    await sending({})({ url: first, headers });
    expect(Object.keys(received).sort()).toEqual(['accept', 'accept-encoding', 'connection', 'host']);
  });
});
