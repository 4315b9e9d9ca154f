import { availableParallelism } from 'node:os';
import { PassThrough } from 'node:stream';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { startRedis } from '../../scripts/start-redis.ts';
import { defaultConfig } from '../../src/config/config.ts';
import type { Labels } from '../../src/core/labels.ts';
import { builtinTools } from '../../src/tools/builtin/index.ts';
import { folderWith, say } from '../cli/support/program.ts';
import { OwnCluster } from './support/cluster.ts';

/** The cluster with the prefix that commands use unless they are told another one. */
let cluster: OwnCluster;
let servers: OwnCluster;
beforeAll(async () => {
  servers = await OwnCluster.start();
  cluster = servers.beside('volley');
});
afterEach(() => cluster.reset());
afterAll(() => servers.stop());

const SETTINGS = '[tools.shell]\nenabled = true\n';

function key(): Record<string, string> {
  return { VOLLEY_CLUSTER_KEY: cluster.settings.key };
}

/** A worker whose machine has that many cores. */
async function worker(name: string, cpu: number, labels: Labels = {}): Promise<void> {
  const config = defaultConfig(folderWith());
  const limits = { ...config.limits, limits: { ...config.limits.limits, cpu } };
  const own = { ...config, limits, shell: { ...config.shell, enabled: true } };
  await cluster.worker(name, [builtinTools()], {
    ...{ config: own, labels },
    settings: { ...cluster.settings, share: 'other files' },
  });
}

test('volley run takes tasks that need more than this machine has, if a worker has it', async () => {
  const cpu = availableParallelism() + 1;
  const params = { command: 'echo large', inputs: [], outputs: [] };
  const tasks = [{ id: 'large', function: 'shell', params, resources: { cpu } }];
  const folder = folderWith({ 'volley.toml': SETTINGS, 'large.json': JSON.stringify({ tasks }) });
  const alone = await say(folder, ['run', 'large.json', '--json']);
  expect(JSON.parse(alone.stdout)).toMatchObject({ ok: false, error: { code: 'IMPOSSIBLE_DEMAND' } });
  await worker('large', cpu);
  const { url } = cluster.settings;
  const run = await say(folder, ['run', 'large.json', '--on', url, '--json'], '', undefined, key());
  expect(run.status).toBe(0);
  const shown = await say(folder, ['results', '--batch', 'large', '--format', 'detailed', '--json']);
  expect(JSON.parse(shown.stdout)).toMatchObject({
    data: { results: [{ status: 'completed', worker: 'large' }] },
  });
});

test('volley run says why nothing runs, once', async () => {
  const params = { command: 'true', inputs: [], outputs: [] };
  const tasks = [{ id: 'lonely', function: 'shell', params, on: { gpu: true } }];
  const folder = folderWith({ 'volley.toml': SETTINGS, 'stuck.json': JSON.stringify({ tasks }) });
  await worker('plain', 1);
  const stderr = new PassThrough();
  let shown = '';
  stderr.on('data', (piece) => {
    shown += piece;
  });
  const run = say(folder, ['run', 'stuck.json', '--on', cluster.settings.url], '', undefined, key(), stderr);
  await expect.poll(() => shown, { timeout: 60_000 }).toMatch(/Nothing is running\. lonely: .*gpu=true/);
  await worker('special', 1, { gpu: true });
  expect((await run).status).toBe(0);
  expect(shown.match(/Nothing is running/g)).toHaveLength(1);
});

test('volley workers and volley doctor name workers that have another key', async () => {
  await worker('large', 1);
  const { url } = cluster.settings;
  const folder = folderWith({ 'volley.toml': `[cluster]\nurl = "${url}"\n` });
  const other = { VOLLEY_CLUSTER_KEY: 'another key for tests only' };
  const listed = await say(folder, ['workers'], '', undefined, other);
  expect(listed.stderr).toMatch(/VOLLEY_CLUSTER_KEY.*large/);
  expect((await say(folder, ['workers'], '', undefined, key())).stderr).toBe('');
  const doctor = await say(folder, ['doctor', '--json'], '', undefined, other);
  expect(JSON.parse(doctor.stdout)).toMatchObject({
    cluster: { workers: [], warnings: [expect.stringMatching(/VOLLEY_CLUSTER_KEY.*large/)] },
  });
});

test('a cluster.url that waits for approval is named as what is missing', async () => {
  const folder = folderWith({ 'volley.toml': `[cluster]\nurl = "${cluster.settings.url}"\n` });
  const env = { ...key(), XDG_CONFIG_HOME: folderWith() };
  for (const command of ['workers', 'worker']) {
    const { stdout } = await say(folder, [command, '--json'], '', undefined, env);
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'NOT_TRUSTED' } });
  }
});

test('a server that wants a login is not said to speak a protocol that users need to know', async () => {
  const guarded = await startRedis();
  const redis = new Redis(guarded.url);
  try {
    await redis.config('SET', 'requirepass', 'secret');
    const { stdout } = await say(
      folderWith(),
      ['workers', '--join', guarded.url, '--json'],
      '',
      undefined,
      key(),
    );
    const { error } = JSON.parse(stdout);
    expect(error).toMatchObject({ code: 'CLUSTER_UNREACHABLE' });
    expect(error.message).not.toContain('HELLO');
  } finally {
    redis.disconnect();
    await guarded.stop();
  }
});
