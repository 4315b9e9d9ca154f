import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { packInputs, packOutputs, unpackInputs, unpackOutputs } from '../../src/cluster/files.ts';
import { checkCluster } from '../../src/cluster/list-workers.ts';
import { defaultConfig, type VolleyConfig } from '../../src/config/config.ts';
import type { ParallelToolCoordinator } from '../../src/coordinator/coordinator.ts';
import { builtinTools } from '../../src/tools/builtin/index.ts';
import { Roots } from '../../src/tools/builtin/roots.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { OwnCluster } from './support/cluster.ts';
import { CREDENTIALS, OwnS3 } from './support/s3.ts';

const folders: string[] = [];

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'volley-files-'));
  folders.push(folder);
  return folder;
}

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function withShell(folder: string): VolleyConfig {
  const config = defaultConfig(folder);
  return { ...config, shell: { ...config.shell, enabled: true } };
}

/** Writes a file in capitals, and says where it ran and what it saw there. */
const shout = defineTool({
  name: 'shout',
  isolation: 'process',
  files: ({ from, to }: { from: string; to: string }) => ({
    inputs: { files: [from, 'missing.txt'], folders: [{ path: 'in', reads: 'sizes' as const }] },
    outputs: [to],
  }),
  run: async ({ from, to }) => {
    const { readdir, readFile, stat, writeFile } = await import('node:fs/promises');
    await writeFile(to, (await readFile(from, 'utf8')).toUpperCase());
    const listed = (await readdir('in')).sort();
    const sizes = await Promise.all(listed.map(async (name) => (await stat(`in/${name}`)).size));
    return { cwd: process.cwd(), listed, sizes };
  },
});

describe('a worker that does not share the folder', () => {
  /** The folders of the coordinator and of the worker. */
  const [folder, far] = [newFolder(), newFolder()];
  let cluster: OwnCluster;
  let calls: ParallelToolCoordinator;

  beforeAll(async () => {
    cluster = await OwnCluster.start();
    const settings = { ...cluster.settings, artifacts: undefined };
    const tools = [shout, builtinTools()];
    await cluster.worker('far', tools, {
      config: withShell(far),
      settings: { ...settings, share: 'other files' },
    });
    ({ calls } = await cluster.coordinator(tools, {}, { settings, config: withShell(folder) }));
    mkdirSync(join(folder, 'in'));
  });
  afterAll(() => cluster.stop());

  async function keysOnServer(): Promise<string[]> {
    const redis = new Redis(cluster.settings.url);
    const keys = await redis.keys('test:artifact:*');
    redis.disconnect();
    return keys;
  }

  test('gets the files that a function declares in a private folder, and returns what it wrote', async () => {
    // Too large for a message, so it goes through the server.
    const text = 'quiet '.repeat(50_000);
    writeFileSync(join(folder, 'in', 'a.txt'), text);
    writeFileSync(join(folder, 'in', 'b.txt'), 'never sent');
    writeFileSync(join(folder, 'undeclared.txt'), 'x');
    const result = await calls.executeSingle({
      name: 'shout',
      arguments: { from: 'in/a.txt', to: 'out/deep/a.txt' },
    });
    expect(result).toMatchObject({
      status: 'completed',
      value: { listed: ['a.txt', 'b.txt'], sizes: [text.length, 10] },
    });
    expect(readFileSync(join(folder, 'out/deep/a.txt'), 'utf8')).toBe(text.toUpperCase());
    expect(readdirSync(far)).toEqual([]);
    const { cwd } = (result as unknown as { value: { cwd: string } }).value;
    expect([cwd.startsWith(far), existsSync(cwd)]).toEqual([false, false]);
    await expect.poll(keysOnServer).toEqual([]);
  });

  test('runs a command with the inputs and outputs that it declares, folders and programs included', async () => {
    writeFileSync(join(folder, 'in', 'run.sh'), '#!/bin/sh\ncat in/large.txt | wc -c > out/size\n');
    chmodSync(join(folder, 'in', 'run.sh'), 0o755);
    writeFileSync(join(folder, 'in', 'large.txt'), Buffer.alloc(3 * 2 ** 20, 'x'));
    const command = 'mkdir out/more && in/run.sh && cp in/run.sh out/more/ && ls';
    const result = await calls.executeSingle({
      name: 'shell',
      arguments: { command, inputs: ['in'], outputs: ['out/size', 'out/more'] },
    });
    expect(result).toMatchObject({ status: 'completed', value: { stdout: 'in\nout\n' } });
    expect(readFileSync(join(folder, 'out/size'), 'utf8').trim()).toBe(String(3 * 2 ** 20));
    expect(statSync(join(folder, 'out/more/run.sh')).mode & 0o100).toBe(0o100);
  });

  test('gets no call whose files are not declared, or not relative', async () => {
    const from = join(folder, 'in', 'a.txt');
    let group = '';
    const controller = new AbortController();
    const running = calls.executeParallel(
      [
        { id: 'absolute', name: 'shout', arguments: { from, to: 'b.txt' } },
        { id: 'unknown', name: 'shell', arguments: { command: 'ls' } },
        { id: 'outside', name: 'shell', arguments: { command: 'ls', inputs: ['../x'] } },
      ],
      { onGroup: (name) => (group = name), signal: controller.signal },
    );
    for (const id of ['absolute', 'unknown', 'outside'])
      await vi.waitFor(
        () => expect(calls.engine.explain(`${group}/${id}`)).toMatchObject({ shortage: { label: 'share' } }),
        { timeout: 60_000 },
      );
    controller.abort();
    await running;
  });

  test('is sent neither more than the limit nor what a link outside of the roots leads to', async () => {
    writeFileSync(join(folder, 'large.txt'), Buffer.alloc(5 * 2 ** 20));
    symlinkSync('/etc/passwd', join(folder, 'link.txt'));
    const run = (from: string) => calls.executeSingle({ name: 'shout', arguments: { from, to: 'b.txt' } });
    expect(await run('large.txt')).toMatchObject({ error: { code: 'CLUSTER_VALUE_TOO_LARGE' } });
    expect(await run('link.txt')).toMatchObject({ error: { code: 'PATH_NOT_ALLOWED' } });
    await expect.poll(keysOnServer).toEqual([]);
  });

  test('returns nothing from outside its private folder', async () => {
    const command = 'ln -s /etc/passwd out.txt';
    const result = await calls.executeSingle({
      name: 'shell',
      arguments: { command, inputs: [], outputs: ['out.txt'] },
    });
    expect(result).toMatchObject({ status: 'failed', error: { code: 'PATH_NOT_ALLOWED' } });
    expect(existsSync(join(folder, 'out.txt'))).toBe(false);
  });
});

describe('a pack of files', () => {
  const { signal } = new AbortController();

  /** A pack as somebody with the key but bad intentions would make it. */
  function forged(entries: readonly object[], content = ''): Buffer {
    const header = Buffer.from(JSON.stringify(entries));
    const length = Buffer.alloc(4);
    length.writeUInt32BE(header.length);
    return Buffer.concat([length, header, Buffer.from(content)]);
  }

  test.each(['../out.txt', '/tmp/volley-forged.txt', 'a/../../out.txt', 'a/./b', '.', '', 'a\0b', 7])(
    'with the path %j is refused whole',
    async (path) => {
      const folder = newFolder();
      const pack = forged(
        [
          { path: 'good.txt', kind: 'file', size: 1 },
          { path, kind: 'file', size: 1 },
        ],
        'xy',
      );
      const refusal = { code: 'CLUSTER_FILES_REFUSED' };
      await expect(unpackInputs(folder, pack, [])).rejects.toMatchObject(refusal);
      await expect(unpackOutputs(new Roots([folder]), ['.'], pack, signal)).rejects.toMatchObject(refusal);
      expect(readdirSync(folder)).toEqual([]);
    },
  );

  test.each([
    forged([{ path: 'a', kind: 'file', size: 5 }], 'four'),
    forged([{ path: 'a', kind: 'file', size: 3 }], 'four'),
    forged([{ path: 'a', kind: 'link', size: 0 }]),
    forged([{ path: 'a', kind: 'file', size: -1 }]),
    Buffer.from([255, 255, 255, 255, 0]),
    Buffer.from('no'),
  ])('that is damaged is refused (%#)', async (pack) => {
    await expect(unpackInputs(newFolder(), pack, [])).rejects.toMatchObject({
      code: 'CLUSTER_FILES_REFUSED',
    });
  });

  test('never replaces what another entry has written', async () => {
    const pack = forged(
      [
        { path: 'a', kind: 'file', size: 1 },
        { path: 'a', kind: 'file', size: 1 },
      ],
      'xy',
    );
    await expect(unpackInputs(newFolder(), pack, [])).rejects.toThrow();
  });

  test('brings back only what the call declares, and nothing through a link or into a protected folder', async () => {
    const [folder, outside] = [newFolder(), newFolder()];
    symlinkSync(outside, join(folder, 'link'));
    const roots = new Roots([folder], undefined, {
      protects: (path: string) => (path.includes('/.git/') ? { pattern: '.git/**' } : undefined),
      hides: () => false,
    } as never);
    const take = (path: string, outputs: readonly string[]) =>
      unpackOutputs(roots, outputs, forged([{ path, kind: 'file', size: 1 }], 'x'), signal);
    await expect(take('other.txt', ['out.txt', 'dir'])).rejects.toMatchObject({
      code: 'CLUSTER_FILES_REFUSED',
    });
    await expect(take('dirt/a', ['dir'])).rejects.toMatchObject({ code: 'CLUSTER_FILES_REFUSED' });
    await expect(take('link/a', ['link'])).rejects.toMatchObject({ code: 'PATH_NOT_ALLOWED' });
    await expect(take('.git/hooks/pre-commit', ['.git'])).rejects.toThrow();
    await take('dir/a', ['dir']);
    expect(readdirSync(outside)).toEqual([]);
    expect(readdirSync(folder).sort()).toEqual(['dir', 'link']);
  });

  test('is the same on the other side: contents, empty folders and sizes', async () => {
    const [from, to] = [newFolder(), newFolder()];
    mkdirSync(join(from, 'd', 'empty'), { recursive: true });
    writeFileSync(join(from, 'd', 'a.bin'), Buffer.from([0, 255, 10]));
    writeFileSync(join(from, 'd', 'b.txt'), 'b');
    symlinkSync('b.txt', join(from, 'd', 'link'));
    const folders = [{ path: 'd', reads: 'names' as const }];
    const inputs = { files: ['d/a.bin', './nothing'], folders };
    await unpackInputs(to, await packInputs(new Roots([from]), inputs, signal), ['out/x']);
    expect(readdirSync(join(to, 'd')).sort()).toEqual(['a.bin', 'b.txt', 'empty']);
    expect(readFileSync(join(to, 'd', 'a.bin'))).toEqual(Buffer.from([0, 255, 10]));
    expect(statSync(join(to, 'd')).mode & 0o077).toBe(0);
    expect(readdirSync(to).sort()).toEqual(['d', 'out']);
    await expect(packOutputs(to, ['../x'], signal)).rejects.toMatchObject({ code: 'CLUSTER_FILES_REFUSED' });
  });
});

describe('a bucket of cluster.artifacts', () => {
  const [folder, far] = [newFolder(), newFolder()];
  let cluster: OwnCluster;
  let s3: OwnS3;
  beforeAll(async () => {
    cluster = await OwnCluster.start();
    s3 = await OwnS3.start();
  });
  afterAll(async () => {
    await cluster.stop();
    await s3.stop();
  });

  test('carries arguments, results and files of more than 4 MB, and is empty afterwards', async () => {
    const echo = defineTool({ name: 'echo', run: ({ text }: { text: string }) => text });
    const settings = { ...cluster.settings, artifacts: s3.place('volley'), credentials: CREDENTIALS };
    const tools = [echo, builtinTools()];
    const config = withShell(far);
    await cluster.worker('far', tools, { config, settings: { ...settings, share: 'other files' } });
    const { calls } = await cluster.coordinator(tools, {}, { settings, config: withShell(folder) });
    const text = 'x'.repeat(5 * 2 ** 20);
    writeFileSync(join(folder, 'in.txt'), text);
    const [echoed, copied] = await calls.executeParallel([
      { id: 'echo', name: 'echo', arguments: { text } },
      {
        id: 'copy',
        name: 'shell',
        arguments: { command: 'cp in.txt out.txt', inputs: ['in.txt'], outputs: ['out.txt'] },
      },
    ]);
    expect(echoed!.status === 'completed' && echoed!.value === text).toBe(true);
    expect(copied).toMatchObject({ status: 'completed' });
    expect(readFileSync(join(folder, 'out.txt'), 'utf8') === text).toBe(true);
    // Two puts and a get each for input and output, and what checks and cleans up.
    expect(s3.requests).toBeGreaterThanOrEqual(8);
    await expect.poll(() => s3.keys('volley')).toEqual([]);
    await cluster.reset();
  });

  test('is tried out by coordinator, worker and doctor when they connect', async () => {
    const credentials = { ...CREDENTIALS, secretAccessKey: 'wrong' };
    const settings = { ...cluster.settings, artifacts: s3.place('volley'), credentials };
    const refusal = { code: 'CLUSTER_ARTIFACTS_REFUSED', details: { reason: 'SignatureDoesNotMatch' } };
    await expect(cluster.worker('a', [], { settings })).rejects.toMatchObject(refusal);
    await expect(cluster.coordinator([], {}, { settings })).rejects.toMatchObject(refusal);
    await expect(checkCluster(settings)).rejects.toMatchObject(refusal);
  });
});
