import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { request } from 'node:https';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { defaultConfig } from '../../src/config/config.ts';
import { createPrivateFile } from '../../src/config/private-file.ts';
import { callServer } from '../../src/server/call-server.ts';
import { startServer } from '../../src/server/server.ts';
import { leaveRecord, runningServers } from '../../src/server/server-record.ts';
import { HeldCalls, openRig } from '../batch/support/rig.ts';
import { localToken, serve, TOKENS } from './support/serve.ts';

const fixture = (name: string) => fileURLToPath(new URL(`fixtures/${name}`, import.meta.url));

async function textOf(response: Response): Promise<string> {
  return await response.text();
}

test('a stopping server lets running tasks finish, takes no more work, and ends streams with a message', async () => {
  const held = new HeldCalls();
  const served = await serve({ tools: [held.tool()] });
  await served.json('POST', '/v1/batches', {
    batch: 'work',
    tasks: ['a', 'b'].map((key) => ({ id: key, function: 'held', params: { key } })),
    start: { max_concurrent: 1 },
  });
  await held.started('a');
  const stream = textOf(await served.fetch('/v1/events'));
  const closing = served.server.close({ graceMs: 60_000 });
  expect(existsSync(served.server.recordFile)).toBe(false);
  expect((await served.json('GET', '/readyz')).status).toBe(503);
  expect((await served.json('GET', '/v1/batches/work')).body.state).toBe('stopping');
  const refused = await served.json('POST', '/v1/batches', { tasks: [{ function: 'echo' }] });
  expect(refused).toMatchObject({ status: 503, body: { code: 'SERVER_CLOSING' } });
  held.finish('a');
  await closing;
  expect(await stream).toContain('event: end\ndata: {"reason":"shutdown"}');
  expect(await served.standing('work')).toEqual(['a completed', 'b open']);
  await expect(served.fetch('/healthz')).rejects.toThrow();
});

test('what does not finish in its grace is ended, and stays open where it may run again', async () => {
  const held = new HeldCalls();
  const served = await serve({ tools: [held.tool('held', { idempotent: true })] });
  await served.json('POST', '/v1/batches', {
    batch: 'work',
    tasks: [{ id: 'a', function: 'held', params: { key: 'a' } }],
    start: {},
  });
  await held.started('a');
  await served.server.close({ graceMs: 50 });
  expect(await served.standing('work')).toEqual(['a open']);
});

test('closing again ends everything at once', async () => {
  const held = new HeldCalls();
  const served = await serve({ tools: [held.tool('held', { idempotent: true })] });
  await served.json('POST', '/v1/batches', {
    tasks: [{ id: 'a', function: 'held', params: { key: 'a' } }],
    start: {},
  });
  await held.started('a');
  const first = served.server.close({ graceMs: 600_000 });
  await served.server.close();
  await first;
  expect(await served.standing()).toEqual(['a open']);
});

test('two servers on one store run different batches, and each says who has the others', async () => {
  const held = new HeldCalls();
  const one = await serve({ tools: [held.tool()] });
  const two = await serve({ tools: [held.tool()], file: one.file });
  const task = (key: string) => ({ id: key, function: 'held', params: { key } });
  await one.json('POST', '/v1/batches', { batch: 'first', tasks: [task('a')], start: {} });
  await held.started('a');
  const seen = (await two.json('GET', '/v1/batches/first')).body;
  expect(seen).toMatchObject({ state: 'elsewhere', holder: { pid: process.pid, host: expect.any(String) } });
  const refused = await two.json('POST', '/v1/batches/first/start');
  expect(refused).toMatchObject({ status: 409, body: { code: 'BATCH_HELD' } });
  expect(refused.body.detail).toContain(`process ${process.pid}`);
  await two.json('POST', '/v1/batches', { batch: 'second', tasks: [task('b')], start: {} });
  await held.started('b');
  expect((await one.json('GET', '/v1/batches/second')).body.state).toBe('elsewhere');
  expect((await runningServers(one.file)).map(({ address }) => address)).toEqual([one.address, two.address]);
  held.finish('a');
  held.finish('b');
});

test('address and token stand in a file that nobody else can read', async () => {
  const { server } = await serve();
  expect(statSync(server.recordFile).mode & 0o777).toBe(0o600);
  const record = JSON.parse(readFileSync(server.recordFile, 'utf8'));
  expect(record).toMatchObject({ address: server.address, pid: process.pid, certificate: null });
});

const RECORD = { address: 'http://127.0.0.1:1', started_at: '', certificate: null };

test('of servers that start at once one has the plain file, and records of dead ones are taken away', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'volley-records-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const store = join(folder, 'volley.db');
  const plain = leaveRecord(store, { ...RECORD, token: 'first' });
  const dead = JSON.parse(readFileSync(plain, 'utf8'));
  dead.process = { ...dead.process, boot: 'an earlier one', host: hostname() };
  for (const name of ['', '-999999'])
    writeFileSync(`${store}-server${name}.json`, JSON.stringify(dead), { mode: 0o600 });
  expect(leaveRecord(store, { ...RECORD, token: 'second' })).toBe(plain);
  expect(readdirSync(folder)).toEqual(['volley.db-server.json']);
  // Whoever looked before it was there finds it taken.
  expect(createPrivateFile(plain, 'third')).toBe(false);
  const own = leaveRecord(store, { ...RECORD, token: 'third' });
  expect(own).toBe(`${store}-server-1.json`);
  expect((await runningServers(store)).map(({ token }) => token)).toEqual(['second', 'third']);
  expect(readdirSync(folder)).toHaveLength(2);
});

test('each of many servers of one process can be found, and takes only its own record away', async () => {
  const first = await serve();
  const file = first.file;
  const [second, third] = [await serve({ file }), await serve({ file })];
  const found = async () => new Set((await runningServers(file)).map(({ address }) => address));
  expect(await found()).toEqual(new Set([first.address, second.address, third.address]));
  await second.server.close();
  expect(await found()).toEqual(new Set([first.address, third.address]));
});

test('a server that cannot leave its record is not started, says why, and keeps no port', async () => {
  const rig = await openRig();
  const config = defaultConfig();
  const doors = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPServerWrap').length;
  const before = doors();
  const started = startServer({
    ...rig,
    config: {
      ...config,
      store: { ...config.store, file: join(rig.file, 'in-a-file') },
      server: { ...config.server, port: 0 },
    },
    log: () => undefined,
    version: '0.0.0',
  });
  await expect(started).rejects.toMatchObject({
    code: 'SERVER_NOT_STARTED',
    details: { storeFile: join(rig.file, 'in-a-file') },
  });
  await expect.poll(doors).toBeLessThanOrEqual(before);
});

test('a record that somebody else could have written is not believed', async () => {
  const { server, file } = await serve();
  expect(await runningServers(file)).toHaveLength(1);
  chmodSync(server.recordFile, 0o620);
  expect(await runningServers(file)).toEqual([]);
  chmodSync(server.recordFile, 0o600);
  renameSync(server.recordFile, `${server.recordFile}.real`);
  symlinkSync(`${server.recordFile}.real`, server.recordFile);
  expect(await runningServers(file)).toEqual([]);
  renameSync(`${server.recordFile}.real`, server.recordFile);
});

test('where the usual port is taken a free one is used, but one that was asked for is not replaced', async () => {
  const first = await serve();
  await expect(serve({ server: { port: first.server.port } })).rejects.toMatchObject({
    code: 'SERVER_NOT_STARTED',
    message: expect.stringContaining(String(first.server.port)),
  });
  const usual = await serve({ server: { port: undefined } });
  const other = await serve({ server: { port: undefined } });
  expect(other.server.port).not.toBe(usual.server.port);
});

test('with certificate files it speaks HTTPS, and commands know its certificate', async () => {
  const tls = { certificate: fixture('localhost.crt'), key: fixture('localhost.key') };
  const served = await serve({ server: { tls } });
  expect(served.address).toMatch(/^https:/);
  const status = await new Promise((resolve, reject) => {
    request(
      `${served.address}/v1/batches`,
      { ca: readFileSync(tls.certificate), headers: { authorization: `Bearer ${TOKENS.read}` } },
      (response) => resolve(response.resume().statusCode),
    )
      .on('error', reject)
      .end();
  });
  expect(status).toBe(200);
  const [record] = await runningServers(served.file);
  const key = () => callServer<{ url: string }>(record!, '/v1/session/keys', ['url']);
  expect((await key()).url.startsWith(served.address)).toBe(true);
  const fake = { ...record!, certificate: 'AA:BB' };
  await expect(callServer(fake, '/v1/session/keys', [])).rejects.toMatchObject({
    code: 'SERVER_UNREACHABLE',
  });
  await expect(serve({ server: { tls: { ...tls, key: fixture('none.key') } } })).rejects.toMatchObject({
    code: 'SERVER_NOT_STARTED',
  });
});

test('the token of a server is worth nothing at another', async () => {
  const [one, two] = [await serve(), await serve()];
  expect((await two.fetch('/v1/batches', { token: localToken(one.server) })).status).toBe(401);
});
