import { once } from 'node:events';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { proofOf } from '../../src/server/auth/secrets.ts';
import { endOf, runBuilt, startBuilt } from '../e2e/support/built-volley.ts';
import { project } from '../e2e/support/project.ts';
import { trustFolder } from '../support/trust.ts';

const SLOW = { timeout: 300_000 };
/** An empty /proc, as on macOS and Windows; `ps` finds no process there either. */
const before = ['bwrap', '--die-with-parent', '--dev-bind', '/', '/', '--tmpfs', '/proc', '--'];
const HOLD =
  '{define} import { existsSync, writeFileSync } from "node:fs";\nexport const hold = defineTool({ name: "hold", run: async () => { writeFileSync("held", ""); while (!existsSync("go")) await new Promise((r) => setTimeout(r, 20)); } });';
const files = { 'volley.toml': '[tools]\nmodules = ["./tools.mjs"]\n', 'tools.mjs': HOLD };

/** Starts a server, and gives what it announced. */
async function serve(folder: string) {
  await trustFolder(folder);
  const child = startBuilt(folder, ['serve', '--port', '0', '--json'], { before });
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  });
  let said = '';
  child.stdout!.on('data', (text) => {
    said += text;
  });
  await expect.poll(() => said, { timeout: 120_000 }).toContain('\n');
  const { address, pid, record_file: record } = JSON.parse(said);
  return { child, address, pid, record } as {
    child: typeof child;
    address: string;
    pid: number;
    record: string;
  };
}

describe('where the system has no /proc', () => {
  it('a running server is found by the dashboard, by commands and by a second server', SLOW, async () => {
    const folder = project(files);
    const server = await serve(folder);
    const dashboard = await runBuilt(folder, ['dashboard', '--json'], { before });
    expect(dashboard).toMatchObject({ status: 0 });
    expect(JSON.parse(dashboard.stdout).url.startsWith(server.address)).toBe(true);
    await runBuilt(folder, ['add', '--function', 'hold', '--id', 'a'], { before });
    const running = endOf(startBuilt(folder, ['start', '--json'], { before }));
    await expect.poll(() => existsSync(join(folder, 'held'))).toBe(true);
    // The server runs it, not the process that was told to.
    const { token } = JSON.parse(readFileSync(server.record, 'utf8'));
    const headers = { authorization: `Bearer ${token}` };
    const asked = await fetch(`${server.address}/v1/batches/default`, { headers });
    expect(await asked.json()).toMatchObject({ state: 'running', counts: { running: 1 } });
    const second = await serve(folder);
    expect(second.record).not.toBe(server.record);
    writeFileSync(join(folder, 'go'), '');
    expect(await running).toMatchObject({ status: 0 });
  });

  it(
    'a record whose server has ended is not believed, whoever has its port and its number now',
    SLOW,
    async () => {
      const folder = project(files);
      const server = await serve(folder);
      const record = JSON.parse(readFileSync(server.record, 'utf8'));
      const gone = once(server.child, 'exit');
      process.kill(server.pid, 'SIGKILL');
      await gone;
      const asked: (string | undefined)[] = [];
      const stranger = createServer((request, response) => {
        asked.push(request.headers.authorization);
        response.end(JSON.stringify({ status: 'ok', proof: '00'.repeat(32), url: 'http://stranger' }));
      });
      await new Promise<void>((resolve) => stranger.listen(0, '127.0.0.1', resolve));
      onTestFinished(() => void stranger.close());
      const { port } = stranger.address() as AddressInfo;
      const own = { ...record, address: `http://127.0.0.1:${port}`, pid: process.pid };
      own.process = { ...record.process, pid: process.pid };
      writeFileSync(server.record, JSON.stringify(own), { mode: 0o600 });
      const dashboard = await runBuilt(folder, ['dashboard', '--json'], { before });
      expect(dashboard).toMatchObject({ status: 2 });
      expect(JSON.parse(dashboard.stdout)).toMatchObject({ error: { code: 'SERVER_UNREACHABLE' } });
      expect(await runBuilt(folder, ['list', '--json'], { before })).toMatchObject({ status: 0 });
      // It was asked who it is, and never shown the token.
      expect(asked.length).toBeGreaterThan(0);
      expect(asked.every((header) => header === undefined)).toBe(true);
    },
  );

  it('a record that came with the folder is not believed, nor an answer that is none', SLOW, async () => {
    const folder = project(files);
    const server = await serve(folder);
    const record = JSON.parse(readFileSync(server.record, 'utf8'));
    const gone = once(server.child, 'exit');
    process.kill(server.pid, 'SIGKILL');
    await gone;
    let asked = 0;
    const stranger = createServer((request, response) => {
      asked++;
      const challenge = new URL(request.url!, 'http://x').searchParams.get('challenge');
      const proof = challenge === null ? {} : { proof: proofOf('t', challenge) };
      response.end(JSON.stringify({ status: 'ok', ...proof }));
    });
    await new Promise<void>((resolve) => stranger.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void stranger.close());
    const { port } = stranger.address() as AddressInfo;
    const address = `http://127.0.0.1:${port}`;
    const shipped = { ...record, address, token: 't', pid: process.pid };
    shipped.process = { ...record.process, pid: process.pid };
    const add = (id: string) =>
      runBuilt(
        folder,
        ['add', '--id', id, '--function', 'list_directory', '--params', '{"path":"."}', '--json'],
        { before },
      );
    // As git checks it out.
    writeFileSync(server.record, JSON.stringify(shipped));
    chmodSync(server.record, 0o644);
    expect(await add('a')).toMatchObject({ status: 0 });
    expect(asked).toBe(0);
    // As an archive may bring it, with the address of another machine.
    chmodSync(server.record, 0o600);
    writeFileSync(server.record, JSON.stringify({ ...shipped, address: `http://192.0.2.1:${port}` }));
    expect(await add('b')).toMatchObject({ status: 0 });
    writeFileSync(server.record, JSON.stringify(shipped));
    const answered = await add('c');
    expect(asked).toBeGreaterThan(0);
    expect(JSON.parse(answered.stdout)).toMatchObject({ error: { code: 'SERVER_UNREACHABLE' } });
  });

  it('a batch is not taken from a process that lives', SLOW, async () => {
    const folder = project({ ...files, 'held.json': '{"tasks":[{"id":"a","function":"hold"}]}' });
    await trustFolder(folder);
    const running = endOf(startBuilt(folder, ['run', 'held.json', '--json'], { before }));
    await expect.poll(() => existsSync(join(folder, 'held')), { timeout: 120_000 }).toBe(true);
    const second = await runBuilt(folder, ['run', 'held.json', '--json'], { before });
    expect(JSON.parse(second.stdout)).toMatchObject({ ok: false, error: { code: 'BATCH_HELD' } });
    const recovered = await runBuilt(folder, ['recover', '--json'], { before });
    expect(JSON.parse(recovered.stdout)).toMatchObject({ ok: true });
    writeFileSync(join(folder, 'go'), '');
    expect(await running).toMatchObject({ status: 0 });
  });
});
