import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { routeRequests } from '../../src/server/request-routing.ts';
import { leaveRecord } from '../../src/server/server-record.ts';
import { openRig } from '../batch/support/rig.ts';
import { folderWith, say } from '../cli/support/program.ts';
import { startBuilt } from '../e2e/support/built-volley.ts';
import { trustFolder } from '../support/trust.ts';

interface Running {
  readonly folder: string;
  readonly child: ChildProcess;
  readonly said: { url: string; address: string; port: number; pid: number; record_file: string };
  readonly log: string[];
}

function tokenOf({ said }: Running): string {
  return (JSON.parse(readFileSync(said.record_file, 'utf8')) as { token: string }).token;
}

function folderFile(cwd: string, name: string): void {
  writeFileSync(join(cwd, name), '');
}

/** `volley serve` as a process of its own. */
async function start(folder: string, ...args: readonly string[]): Promise<Running> {
  await trustFolder(folder);
  const child = startBuilt(folder, ['serve', '--json', '--port', '0', ...args]);
  onTestFinished(() => void child.kill('SIGKILL'));
  const log: string[] = [];
  createInterface({ input: child.stderr! }).on('line', (line) => log.push(line));
  const lines = createInterface({ input: child.stdout! });
  const [line] = (await Promise.race([
    once(lines, 'line'),
    once(child, 'exit').then(() => {
      throw new Error(log.join('\n'));
    }),
  ])) as [string];
  return { folder, child, said: JSON.parse(line), log };
}

/** With a shell, in which a task can wait for a file. */
function folder(): string {
  return folderWith({ 'volley.toml': '[tools.shell]\nenabled = true\n[processes]\nsandbox = "off"\n' });
}

test('commands find the server, it runs what they start, and SIGTERM drains it', async () => {
  const server = await start(folder());
  const { folder: cwd, child, log } = server;
  const wait = (id: string) => `while [ ! -e ${id} ]; do sleep 0.05; done; echo ${id}`;
  const task = (id: string) => [
    ...['add', '--id', id, '--function', 'shell'],
    ...['--params', JSON.stringify({ command: wait(id) })],
  ];
  expect(await say(cwd, task('a'))).toMatchObject({ status: 0 });
  expect(await say(cwd, task('b'))).toMatchObject({ status: 0 });
  const shown = await say(cwd, ['dashboard']);
  expect(shown.stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#key=volley_key_[\w-]+\n$/);

  const started = say(cwd, ['start', '--max-concurrent', '1', '--json']);
  await expect.poll(async () => (await say(cwd, ['status', '--json'])).stdout).toContain('"running":1');
  const status = JSON.parse((await say(cwd, ['status', '--json'])).stdout);
  expect(status.data).toMatchObject({ state: 'running', max_concurrent: 1 });

  const stream = await fetch(`${server.said.address}/v1/events`, {
    headers: { authorization: `Bearer ${tokenOf(server)}` },
  });
  await expect.poll(() => log.join('\n')).toContain('/v1/actions');
  child.kill('SIGTERM');
  await expect.poll(() => log.join('\n')).toContain('stopping');
  expect(existsSync(server.said.record_file)).toBe(false);
  folderFile(cwd, 'a');
  expect(await once(child, 'exit')).toEqual([0, null]);
  expect(await stream.text()).toContain('event: end');
  const answer = JSON.parse((await started).stdout);
  expect(answer.data.counts).toMatchObject({ completed: 1, open: 1 });
  expect(log.join('\n')).not.toContain(new URL(server.said.url).hash.slice(5));

  // Nobody serves any more: the command does it itself.
  folderFile(cwd, 'b');
  expect(await say(cwd, ['start', '--json'])).toMatchObject({ status: 0 });
  const results = JSON.parse((await say(cwd, ['results', '--format', 'json', '--json'])).stdout);
  expect(results.data.results).toMatchObject([
    { id: 'a', status: 'completed', result: { stdout: 'a\n' } },
    { id: 'b', status: 'completed', result: { stdout: 'b\n' } },
  ]);
});

test('a record of a server that died misleads nobody', async () => {
  const server = await start(folder(), '--log-level', 'debug');
  await fetch(`${server.said.address}/healthz`);
  // Everything is told, as was asked for.
  await expect.poll(() => server.log.join('\n')).toContain('"route":"/healthz"');
  server.child.kill('SIGKILL');
  await once(server.child, 'exit');
  expect(existsSync(server.said.record_file)).toBe(true);
  const { status, stdout } = await say(server.folder, ['list', '--json']);
  expect({ status, ok: JSON.parse(stdout).ok }).toEqual({ status: 0, ok: true });
  expect(await say(server.folder, ['dashboard'])).toMatchObject({ status: 2 });
});

test('a second server names the one that runs already', async () => {
  const cwd = folderWith({ 'volley.toml': '', '.volley/here': '' });
  const address = 'http://127.0.0.1:1';
  leaveRecord(join(cwd, '.volley/volley.db'), { address, token: 'none', started_at: '', certificate: null });
  const child = startBuilt(cwd, ['serve', '--port', '0']);
  onTestFinished(() => void child.kill('SIGKILL'));
  let said = '';
  child.stdout!.on('data', (text) => {
    said += text;
  });
  await expect.poll(() => said).toContain('a token in');
  expect(said).toContain(`${address} (process ${process.pid})`);
  expect(said).not.toContain('For another');
});

test('a server that hangs keeps no command from its work', async () => {
  const server = await start(folder());
  server.child.kill('SIGSTOP');
  // Both wait as long for a sign of life.
  const [listed, shown] = await Promise.all([
    say(server.folder, ['list', '--json']),
    say(server.folder, ['dashboard']),
  ]);
  expect({ status: listed.status, ok: JSON.parse(listed.stdout).ok }).toEqual({ status: 0, ok: true });
  expect(shown.stderr).toContain('does not answer');
});

test('what a dying server may have added is not added again', async () => {
  const rig = await openRig();
  const dying = createServer((incoming, outgoing) => {
    if (incoming.url === '/healthz') outgoing.end('{}');
    else incoming.socket.destroy();
  });
  await new Promise<void>((resolve) => dying.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void dying.close());
  const { port } = dying.address() as AddressInfo;
  leaveRecord(rig.file, {
    address: `http://127.0.0.1:${port}`,
    token: 'none',
    started_at: '',
    certificate: null,
  });
  const ask = routeRequests(rig.file, rig.store, rig.executor);
  await expect(ask({ action: 'add', function: 'echo' })).rejects.toMatchObject({
    code: 'SERVER_UNREACHABLE',
    message: expect.stringContaining('may have added'),
  });
  expect(await rig.store.batch('default')).toBeUndefined();
  expect(await ask({ action: 'list' })).toMatchObject({ ok: true });
});

test('a new token is shown once, with the lines for the configuration; what cannot be meant is refused', async () => {
  const { stdout } = await say(folderWith(), ['token', 'ci', '--scope', 'run']);
  expect(stdout).toMatch(/volley_token_[\w-]{43}/);
  expect(stdout).toMatch(/\[server\.tokens\.ci\]\n {2}hash = "sha256:[\da-f]{64}"\n {2}scope = "run"/);
  expect(await say(folderWith(), ['token', 'ci', '--scope', 'all'])).toMatchObject({ status: 2 });
  const refused = await say(folderWith(), ['serve', '--log-level', 'loud']);
  expect(refused).toMatchObject({ status: 2, stderr: expect.stringContaining('debug, info, warn') });
});
