import { expect, test } from 'vitest';
import { HostRule } from '../../src/server/http/origin.ts';
import { raw, serve, TOKENS } from './support/serve.ts';

const statusOf = (answer: string) => Number(answer.split(' ')[1]);

const get = (host: string, path = '/v1/batches') =>
  `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${TOKENS.admin}\r\nConnection: close\r\n\r\n`;

test('the server answers to its own names only, so that no foreign name can be made to lead to it', async () => {
  const { address } = await serve();
  const { port } = new URL(address);
  for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`, 'LOCALHOST:9999'])
    expect(statusOf(await raw(address, get(host))), host).toBe(200);
  const foreign = [
    `evil.example:${port}`,
    'evil.example',
    `localhost.evil.example:${port}`,
    `127.0.0.1.evil.example`,
    `192.168.1.10:${port}`,
    `localhost@evil.example`,
    '0x7f000001',
  ];
  for (const host of foreign) {
    for (const path of ['/v1/batches', '/', '/healthz'])
      expect(statusOf(await raw(address, get(host, path))), `${host}${path}`).toBe(421);
  }
  expect(statusOf(await raw(address, `GET / HTTP/1.1\r\nConnection: close\r\n\r\n`))).toBe(400);
  expect(statusOf(await raw(address, `GET / HTTP/1.0\r\n\r\n`))).toBe(421);
  const absolute = `GET http://evil.example/v1/batches HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n`;
  expect(statusOf(await raw(address, absolute))).toBe(421);
});

test('configured host names are answered, also where anybody may connect', async () => {
  const { address } = await serve({ server: { host: '0.0.0.0', allowedHosts: ['Volley.Example.org'] } });
  expect(statusOf(await raw(address, get('volley.example.org')))).toBe(200);
  expect(statusOf(await raw(address, get('192.0.2.7:80')))).toBe(200);
  expect(statusOf(await raw(address, get('other.example.org')))).toBe(421);
});

test('a configured host name with a port counts with that port only', () => {
  const rule = new HostRule('127.0.0.1', ['Volley.example.org:8443']);
  expect(() => rule.check('volley.example.org:8443')).not.toThrow();
  for (const host of ['volley.example.org', 'volley.example.org:8444'])
    expect(() => rule.check(host), host).toThrow(expect.objectContaining({ code: 'HOST_NOT_ALLOWED' }));
});

test('a name that it listens on is one of its own', () => {
  const rule = new HostRule('Machine.local', []);
  expect(() => rule.check('machine.local:7717')).not.toThrow();
  expect(() => rule.check('other.local:7717')).toThrow(expect.objectContaining({ code: 'HOST_NOT_ALLOWED' }));
});

test('a foreign origin is refused with a token as well, on every kind of path', async () => {
  const { fetch } = await serve();
  const headers = { origin: 'https://evil.example' };
  for (const path of ['/v1/batches', '/healthz', '/metrics', '/'])
    expect((await fetch(path, { headers })).status, path).toBe(403);
  expect((await fetch('/v1/batches', { method: 'OPTIONS', headers })).status).toBe(403);
});

test('pages of configured origins may call with a token, and get the headers that browsers ask for', async () => {
  const origin = 'https://tools.example.org';
  const { fetch, server, json } = await serve({ server: { allowedOrigins: [origin] } });
  const preflight = await fetch('/v1/batches', {
    method: 'OPTIONS',
    token: null,
    headers: { origin, 'access-control-request-method': 'POST' },
  });
  expect(preflight.status).toBe(204);
  expect(preflight.headers.get('access-control-allow-origin')).toBe(origin);
  expect(preflight.headers.get('access-control-allow-credentials')).toBeNull();
  const answer = await fetch('/v1/batches', { headers: { origin } });
  expect(answer.status).toBe(200);
  expect(answer.headers.get('access-control-allow-origin')).toBe(origin);
  const key = new URL(server.pageAddress()).hash.slice(5);
  const signed = await json('POST', '/v1/session', { key }, { token: null });
  const cookie = signed.headers.get('set-cookie')!.split(';')[0]!;
  expect((await fetch('/v1/batches', { token: null, headers: { origin, cookie } })).status).toBe(403);
});

test('other addresses than loopback are refused without configured tokens', async () => {
  await expect(serve({ server: { host: '0.0.0.0', tokens: {} } })).rejects.toMatchObject({
    code: 'SERVER_NOT_STARTED',
    message: expect.stringContaining('volley token'),
  });
});
