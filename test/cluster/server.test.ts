import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { freePort, type OwnRedis, startRedis } from '../../scripts/start-redis.ts';
import { checkCluster } from '../../src/cluster/list-workers.ts';
import { endOf, startBuilt } from '../e2e/support/built-volley.ts';
import { project } from '../e2e/support/project.ts';
import { trustFolder } from '../support/trust.ts';

/** What a server must allow the user of a cluster with the prefix `volley`; see docs/cluster.md. */
const RULES = ['on', '>secret', '~volley:*', '&volley:*', '+@all', '-@admin', '-@dangerous', '+info'];
const hasOpenssl = spawnSync('openssl', ['version']).status === 0;

let redis: OwnRedis;
let admin: Redis;
let folder: string;
let tlsPort = 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'volley-tls-'));
  tlsPort = await freePort();
  redis = await startRedis(...(hasOpenssl ? tlsSettings() : []));
  admin = new Redis(redis.url);
});
afterEach(async () => {
  await admin.call('ACL', 'DELUSER', 'limited');
  await admin.flushall();
});
afterAll(async () => {
  admin.disconnect();
  await redis.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** A certificate for this machine that only who is told about it trusts. */
function tlsSettings(): string[] {
  const [key, certificate] = ['key.pem', 'certificate.pem'].map((name) => join(folder, name)) as [
    string,
    string,
  ];
  const { status, stderr } = spawnSync('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
    ...[
      '-keyout',
      key,
      '-out',
      certificate,
      '-subj',
      '/CN=localhost',
      '-addext',
      'subjectAltName=IP:127.0.0.1',
    ],
  ]);
  if (status !== 0) throw new Error(String(stderr));
  return [
    ...['--tls-port', String(tlsPort), '--tls-cert-file', certificate, '--tls-key-file', key],
    ...['--tls-ca-cert-file', certificate, '--tls-auth-clients', 'no'],
  ];
}

const settings = (url = redis.url) => ({
  url,
  prefix: 'volley',
  key: 'a key for tests only',
  share: '',
  artifacts: undefined,
});

function limitedUrl(base = redis.url): string {
  return base.replace('//', '//limited:secret@');
}

async function withSetting(name: string, value: string): Promise<void> {
  const before = (await admin.config('GET', name)) as string[];
  await admin.config('SET', name, value);
  onTestFinished(() => admin.config('SET', name, before[1]!).then(() => {}));
}

describe('the check of a server', () => {
  test('finds nothing wrong with an append-only file that is flushed every second', async () => {
    expect(await checkCluster(settings())).toEqual([]);
  });

  test('warns about data that a crash would lose, and about memory that is nearly full', async () => {
    await withSetting('appendfsync', 'no');
    expect(await checkCluster(settings())).toMatchObject([expect.stringContaining('appendfsync')]);
    await withSetting('appendonly', 'no');
    const used = Number(/^used_memory:(\d+)/m.exec(await admin.info('memory'))![1]);
    await withSetting('maxmemory', String(Math.ceil(used * 1.05)));
    expect(await checkCluster(settings())).toMatchObject([
      expect.stringContaining('appendonly'),
      expect.stringContaining('maxmemory'),
    ]);
  });

  test.each(['allkeys-lru', 'volatile-ttl'])('refuses the maxmemory-policy %s', async (policy) => {
    await withSetting('maxmemory-policy', policy);
    await expect(checkCluster(settings())).rejects.toMatchObject({ code: 'CLUSTER_UNSUITABLE' });
  });

  test('refuses a replica, and a wrong password without showing it', async () => {
    await admin.replicaof('127.0.0.1', 1);
    const refused = await checkCluster(settings()).catch((error: unknown) => error);
    await admin.replicaof('NO', 'ONE');
    expect(refused).toMatchObject({ code: 'CLUSTER_UNSUITABLE' });
    const wrong = await checkCluster(settings(redis.url.replace('//', '//limited:hunter2@'))).catch(
      (error: unknown) => error,
    );
    expect(wrong).toMatchObject({ code: 'CLUSTER_UNREACHABLE' });
    expect(String(wrong)).not.toContain('hunter2');
  });

  test.each([
    ['keys', '&volley:*', '~other:*'],
    ['channels', '~volley:*', '&other:*'],
  ])('names the permission that a user lacks: %s', async (_, ...rules) => {
    await admin.call('ACL', 'SETUSER', 'limited', 'on', '>secret', '+@all', ...rules);
    const refused = await checkCluster(settings(limitedUrl())).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 'CLUSTER_UNSUITABLE' });
    expect(String(refused)).toContain('NOPERM');
  });
});

test.skipIf(!hasOpenssl)(
  'a batch runs over TLS as a user who may only use keys with the prefix',
  async () => {
    await admin.call('ACL', 'SETUSER', 'limited', ...RULES);
    await admin.call('ACL', 'LOG', 'RESET');
    const url = limitedUrl(`rediss://127.0.0.1:${tlsPort}`);
    const place = project({
      'volley.toml': `[tools]\nmodules = ["./tools.mjs"]\n[cluster]\nurl = "${url}"\n`,
      'tools.mjs': `{define}\nexport const work = defineTool({ name: 'work', run: ({ value }) => value });\n`,
      'b.json': JSON.stringify({
        tasks: [1, 2, 3].map((value) => ({ id: `t${value}`, function: 'work', params: { value } })),
      }),
    });
    await trustFolder(place);
    const env = { VOLLEY_CLUSTER_KEY: 'a key for tests only' };
    const trusting = { ...env, NODE_EXTRA_CA_CERTS: join(folder, 'certificate.pem') };
    // Who does not trust the certificate does not connect.
    const doubting = await endOf(startBuilt(place, ['workers', '--json'], { env }));
    expect(JSON.parse(doubting.stdout)).toMatchObject({ error: { code: 'CLUSTER_UNREACHABLE' } });
    const worker = startBuilt(place, ['worker', '--name', 'a'], { env: trusting });
    onTestFinished(() => void worker.kill('SIGKILL'));
    worker.stdout!.resume();
    worker.stderr!.resume();
    const { status, stdout, stderr } = await endOf(startBuilt(place, ['run', 'b.json'], { env: trusting }));
    expect(status, stdout + stderr).toBe(0);
    // It ran there, and all keys have the prefix.
    expect((await admin.keys('*')).filter((key) => !key.startsWith('volley:'))).toEqual([]);
    const log = (await admin.call('ACL', 'LOG')) as unknown[];
    expect(log.filter((entry) => !JSON.stringify(entry).includes('config|get'))).toEqual([]);
  },
);
