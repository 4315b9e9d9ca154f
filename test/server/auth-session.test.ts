import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { freePort } from './support/free-port.ts';
import { raw, type Served, serve } from './support/serve.ts';

function keyOf(address: string): string {
  return new URL(address).hash.slice('#key='.length);
}

async function signIn(served: Served): Promise<{ cookie: string; header: string }> {
  const key = keyOf(served.server.pageAddress());
  const { status, headers } = await served.json('POST', '/v1/session', { key }, { token: null });
  expect(status).toBe(201);
  const header = headers.get('set-cookie')!;
  return { cookie: header.split(';')[0]!, header };
}

/** Of which ports there are files of sessions beside the store. */
function sessionFiles({ file }: Served): number[] {
  const ports = readdirSync(dirname(file)).flatMap((name) => /-sessions-(\d+)\.json$/.exec(name)?.[1] ?? []);
  return ports.map(Number).sort((a, b) => a - b);
}

const same = (served: Served) => ({ origin: served.address, 'sec-fetch-site': 'same-origin' });

test('a one-time key is exchanged once for a cookie that scripts cannot read', async () => {
  const served = await serve();
  const address = served.server.pageAddress();
  expect(new URL(address).search).toBe('');
  const key = keyOf(address);
  const first = await served.json('POST', '/v1/session', { key }, { token: null });
  expect(first).toMatchObject({ status: 201, body: { scopes: ['read', 'run', 'admin'] } });
  const header = first.headers.get('set-cookie')!;
  expect(header).toMatch(
    /^volley_\d+=volley_session_[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200$/,
  );
  const second = await served.json('POST', '/v1/session', { key }, { token: null });
  expect(second).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } });
  expect(second.headers.get('set-cookie')).toBeNull();
});

test('the cookie reads and changes from the page itself, until it is ended', async () => {
  const served = await serve();
  const { cookie } = await signIn(served);
  const headers = { cookie, ...same(served) };
  const read = await served.fetch('/v1/batches', { token: null, headers });
  expect(read.status).toBe(200);
  const added = await served.json(
    'POST',
    '/v1/batches',
    { tasks: [{ function: 'echo' }] },
    { token: null, headers },
  );
  expect(added.status).toBe(201);
  const ended = await served.fetch('/v1/session', { method: 'DELETE', token: null, headers });
  expect(ended.status).toBe(204);
  expect(ended.headers.get('set-cookie')).toContain('Max-Age=0');
  expect((await served.fetch('/v1/batches', { token: null, headers })).status).toBe(401);
});

test('signing out ends the streams of that browser, and no others', async () => {
  const served = await serve();
  const open = async () => {
    const headers = { ...(await signIn(served)), ...same(served) };
    const stream = await served.fetch('/v1/events', { token: null, headers });
    return { headers, reader: stream.body!.getReader() };
  };
  const leaving = await open();
  const staying = await open();
  await served.fetch('/v1/session', { method: 'DELETE', token: null, headers: leaving.headers });
  const untilCut = async () => {
    while (!(await leaving.reader.read()).done);
  };
  await untilCut().catch(() => undefined);
  await expect.poll(async () => (await served.json('GET', '/v1/statistics')).body.subscribers).toBe(1);
  await staying.reader.cancel();
});

test('a cookie counts for nothing in a request that another page may have caused', async () => {
  const served = await serve();
  const { cookie } = await signIn(served);
  const body = { tasks: [{ function: 'echo' }] };
  const { port } = new URL(served.address);
  const attempts: Record<string, string>[] = [
    {},
    { 'sec-fetch-site': 'none' },
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: `http://localhost:${Number(port) + 1}` },
    { origin: `http://127.0.0.1:1` },
    { origin: served.address.replace('http:', 'https:') },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'cross-site' },
    { origin: served.address, 'sec-fetch-site': 'same-site' },
  ];
  for (const headers of attempts) {
    const answer = await served.json('POST', '/v1/batches', body, {
      token: null,
      headers: { cookie, ...headers },
    });
    expect(answer, JSON.stringify(headers)).toMatchObject({
      status: 403,
      body: { code: 'ORIGIN_NOT_ALLOWED' },
    });
  }
  expect(await served.store.batches()).toEqual([]);
  for (const site of ['same-site', 'cross-site']) {
    const read = await served.fetch('/v1/batches', {
      token: null,
      headers: { cookie, 'sec-fetch-site': site },
    });
    expect(read.status).toBe(403);
  }
});

test('sessions last as long as configured, also across a restart of the server on its port', async () => {
  const port = await freePort();
  const served = await serve({ server: { sessionMs: 60_000, port } });
  const { cookie } = await signIn(served);
  const sessionFile = `${served.file}-sessions-${port}.json`;
  expect(statSync(sessionFile).mode & 0o777).toBe(0o600);
  expect(readFileSync(sessionFile, 'utf8')).not.toContain(cookie.split('=')[1]!);
  await served.server.close({ graceMs: 0 });
  const again = await serve({ file: served.file, server: { port } });
  // On a connection of its own: fetch may still have one to the server that was.
  const head = `GET /v1/batches HTTP/1.1\r\nHost: ${new URL(again.address).host}\r\nCookie: ${cookie}\r\n`;
  expect(await raw(again.address, `${head}Connection: close\r\n\r\n`)).toMatch(/^HTTP\/1\.1 200 /);
});

test('what a server keeps of its sessions goes with it where the next has another port', async () => {
  const served = await serve();
  await signIn(served);
  expect(sessionFiles(served)).toEqual([served.server.port]);
  await served.server.close({ graceMs: 0 });
  expect(sessionFiles(served)).toEqual([]);
});

test('a server that starts clears away the sessions of those that are long gone, and of no other', async () => {
  const served = await serve({ server: { sessionMs: 1000 } });
  const { cookie } = await signIn(served);
  const ask = async () => (await served.fetch('/v1/session', { token: null, headers: { cookie } })).status;
  await expect.poll(ask, { interval: 200 }).toBe(401);
  const leave = (port: number, expiresAt: number) => {
    const text = JSON.stringify([{ hash: 'sha256:00', expires_at: expiresAt }]);
    writeFileSync(`${served.file}-sessions-${port}.json`, text, { mode: 0o600 });
  };
  leave(1, Date.now() - 1000);
  leave(2, Date.now() + 60_000);
  writeFileSync(`${served.file}-sessions-3.json`, 'not ours');
  await serve({ file: served.file });
  // The one of the first server stays, though its only session is over: it lives.
  expect(sessionFiles(served)).toEqual([2, 3, served.server.port]);
});

test('a session ends by itself', async () => {
  const served = await serve({ server: { sessionMs: 1000 } });
  const { cookie } = await signIn(served);
  const ask = async () => (await served.fetch('/v1/session', { token: null, headers: { cookie } })).status;
  await expect.poll(ask, { interval: 200 }).toBe(401);
});

test('an admin gets another key, for another browser', async () => {
  const served = await serve();
  const { body } = await served.json('POST', '/v1/session/keys');
  expect(body.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#key=volley_key_/);
  const signed = await served.json('POST', '/v1/session', { key: keyOf(body.url) }, { token: null });
  expect(signed.status).toBe(201);
});
