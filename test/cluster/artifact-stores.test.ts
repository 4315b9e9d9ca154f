import { execFileSync } from 'node:child_process';
import {
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { type ArtifactStore, FolderStore, MAX_ARTIFACT_BYTES } from '../../src/cluster/artifact-store.ts';
import { Artifacts } from '../../src/cluster/artifacts.ts';
import { S3Store } from '../../src/cluster/s3-store.ts';
import { CREDENTIALS, OwnS3 } from './support/s3.ts';

const folders: string[] = [];
const ARTIFACT = 'x'.repeat(100_000);
const PAUSES = { pausesMs: [0, 0, 0] };

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'volley-artifacts-'));
  folders.push(folder);
  return folder;
}

let s3: OwnS3;
beforeAll(async () => {
  s3 = await OwnS3.start();
});
afterEach(() => {
  s3.faults.length = 0;
  vi.restoreAllMocks();
});
afterAll(async () => {
  await s3.stop();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** The artifacts of a store. Nothing goes through the Redis server. */
function artifactsIn(store: ArtifactStore | undefined): Artifacts {
  return new Artifacts(store, () => Promise.reject(new Error('There is no server.')));
}

async function ship(artifacts: Artifacts): Promise<{ artifact: string }> {
  return (await artifacts.ship(ARTIFACT)) as { artifact: string };
}

interface Rig {
  readonly store: ArtifactStore;
  names(): string[];
  overwrite(name: string, content: Buffer): void;
  /** Adds something that is not an artifact. */
  add(name: string): void;
  setTime(name: string, time: Date): void;
}

let prefixes = 0;

const RIGS: Readonly<Record<string, () => Promise<Rig>>> = {
  'a folder': async () => {
    const folder = newFolder();
    return {
      store: new FolderStore(join(folder, 'new')),
      names: () => readdirSync(join(folder, 'new')).sort(),
      overwrite: (name, content) => writeFileSync(join(folder, 'new', name), content),
      add: (name) => writeFileSync(join(folder, 'new', name), 'not ours'),
      setTime: (name, time) => utimesSync(join(folder, 'new', name), time, time),
    };
  },
  'an S3 bucket': async () => {
    const prefix = `some/prefix-${prefixes++}`;
    const store = await S3Store.open(s3.place(prefix), CREDENTIALS, PAUSES);
    return {
      store,
      names: () => s3.keys(prefix),
      overwrite: (name, content) => s3.overwrite(prefix, name, content),
      add: (name) => s3.overwrite(prefix, name, Buffer.from('not ours')),
      setTime: (name, time) => s3.setTime(prefix, name, time),
    };
  },
};

describe.each(Object.entries(RIGS))('%s', (_, open) => {
  test('keeps what is too large for a message until it is dropped', async () => {
    const { store, names } = await open();
    const artifacts = artifactsIn(store);
    await store.check();
    expect(names()).toEqual([]);
    const [text, bytes] = ['ü'.repeat(3 * 2 ** 20), Buffer.alloc(100_000, 7)];
    const shipped = [await artifacts.ship(text), await artifacts.ship(bytes)] as const;
    expect(names()).toHaveLength(2);
    expect((await artifacts.receiveText(shipped[0])) === text).toBe(true);
    expect((await artifacts.receive(shipped[1])).equals(bytes)).toBe(true);
    for (const one of shipped) artifacts.drop(one);
    await artifacts.dropped();
    expect(names()).toEqual([]);
  });

  test('ships what is equal under different names, so that one reader does not take it from another', async () => {
    const { store } = await open();
    const artifacts = artifactsIn(store);
    const [first, second] = [await ship(artifacts), await ship(artifacts)];
    artifacts.drop(first);
    await artifacts.dropped();
    expect(await artifacts.receiveText(second)).toBe(ARTIFACT);
    await expect(artifacts.receive(first)).rejects.toMatchObject({ code: 'CLUSTER_ARTIFACT_MISSING' });
    // Removing it again is not an error.
    await store.remove(first.artifact);
  });

  test('returns nothing that was changed, or is larger than any artifact', async () => {
    const { store, overwrite } = await open();
    const artifacts = artifactsIn(store);
    const shipped = await ship(artifacts);
    for (const content of [Buffer.from('forged'), Buffer.alloc(0), Buffer.alloc(MAX_ARTIFACT_BYTES + 1)]) {
      overwrite(shipped.artifact, content);
      await expect(artifacts.receive(shipped)).rejects.toMatchObject({ code: 'CLUSTER_ARTIFACT_MISSING' });
    }
  });

  test('takes up to the limit, and nothing above it', async () => {
    const artifacts = artifactsIn((await open()).store);
    const shipped = await artifacts.ship(Buffer.alloc(MAX_ARTIFACT_BYTES, 1));
    expect(await artifacts.receive(shipped)).toHaveLength(MAX_ARTIFACT_BYTES);
    await expect(artifacts.ship(Buffer.alloc(MAX_ARTIFACT_BYTES + 1))).rejects.toMatchObject({
      code: 'CLUSTER_VALUE_TOO_LARGE',
    });
  });

  test('does not follow names that lead elsewhere', async () => {
    const artifacts = artifactsIn((await open()).store);
    for (const artifact of ['../secret', `../${'0'.repeat(64)}.${'0'.repeat(16)}`, '', 7 as never])
      await expect(artifacts.receive({ artifact })).rejects.toMatchObject({
        code: 'CLUSTER_ARTIFACT_MISSING',
      });
  });

  test('loses what crashes have left after a day, and nothing else', async () => {
    const { store, names, add, setTime } = await open();
    const artifacts = artifactsIn(store);
    const [fresh, old] = [(await ship(artifacts)).artifact, (await ship(artifacts)).artifact];
    add('report.txt');
    for (const name of [old, 'report.txt']) setTime(name, new Date(Date.now() - 25 * 3_600_000));
    await artifacts.sweep();
    expect(names()).toEqual([fresh, 'report.txt'].sort());
  });
});

describe('a folder', () => {
  test('in which an artifact was replaced by a pipe, a link or something large blocks nobody', async () => {
    const folder = newFolder();
    const artifacts = artifactsIn(new FolderStore(folder));
    const swap = async (change: (path: string) => void) => {
      const shipped = await ship(artifacts);
      const path = join(folder, shipped.artifact);
      rmSync(path);
      change(path);
      return artifacts.receive(shipped);
    };
    const large = join(newFolder(), 'large');
    writeFileSync(large, '');
    truncateSync(large, MAX_ARTIFACT_BYTES + 1);
    for (const change of [
      (path: string) => execFileSync('mkfifo', [path]),
      (path: string) => symlinkSync('/dev/zero', path),
      (path: string) => renameSync(large, path),
    ])
      await expect(swap(change)).rejects.toMatchObject({ code: 'CLUSTER_ARTIFACT_MISSING' });
  });

  test('loses unfinished artifacts after a day', async () => {
    const folder = newFolder();
    const artifacts = artifactsIn(new FolderStore(folder));
    const { artifact } = await ship(artifacts);
    const draft = join(folder, `${artifact}.tmp`);
    renameSync(join(folder, artifact), draft);
    const aDayAgo = Date.now() / 1000 - 25 * 3600;
    utimesSync(draft, aDayAgo, aDayAgo);
    await artifacts.sweep();
    expect(readdirSync(folder)).toEqual([]);
  });

  test('that cannot be made is refused before anything is sent', async () => {
    const file = join(newFolder(), 'file');
    writeFileSync(file, '');
    await expect(new FolderStore(join(file, 'below')).check()).rejects.toMatchObject({
      code: 'CLUSTER_ARTIFACTS_REFUSED',
    });
  });
});

describe('an S3 bucket', () => {
  const answer = (status: number, code: string) => (_: unknown, response: ServerResponse) => {
    response.writeHead(status, { 'content-type': 'application/xml', connection: 'close' });
    response.end(`<Error><Code>${code}</Code><Message>Not now.</Message></Error>`);
  };

  test.each([
    ['a wrong secret', 'SignatureDoesNotMatch', { ...CREDENTIALS, secretAccessKey: 'wrong' }, undefined],
    ['an unknown key', 'InvalidAccessKeyId', { ...CREDENTIALS, accessKeyId: 'nobody' }, undefined],
    ['a bucket that does not exist', 'NoSuchBucket', CREDENTIALS, 'no-such-bucket'],
  ])('is refused with %s', async (_, reason, credentials, bucket) => {
    const store = await S3Store.open(s3.place('p', bucket), credentials, PAUSES);
    const refusal = { code: 'CLUSTER_ARTIFACTS_REFUSED', details: { reason } };
    await expect(store.check()).rejects.toMatchObject(refusal);
    await expect(store.get('0'.repeat(64))).rejects.toMatchObject(refusal);
  });

  test('is refused without credentials, without permission, and in another region', async () => {
    await expect(S3Store.open(s3.place('p'), undefined)).rejects.toMatchObject({
      code: 'CLUSTER_ARTIFACTS_REFUSED',
    });
    const store = await S3Store.open(s3.place('p'), CREDENTIALS, PAUSES);
    for (const [status, reason] of [
      [403, 'AccessDenied'],
      [301, 'PermanentRedirect'],
    ] as const) {
      s3.faults.push(answer(status, reason));
      await expect(store.check()).rejects.toMatchObject({
        code: 'CLUSTER_ARTIFACTS_REFUSED',
        details: { reason },
      });
    }
  });

  test('is asked again while it is busy or breaks connections, and not for long', async () => {
    const store = await S3Store.open(s3.place('busy'), CREDENTIALS, PAUSES);
    const artifacts = artifactsIn(store);
    s3.faults.push(
      answer(503, 'SlowDown'),
      (request) => request.socket.destroy(),
      answer(500, 'InternalError'),
    );
    const shipped = await ship(artifacts);
    expect(await artifacts.receiveText(shipped)).toBe(ARTIFACT);
    for (let tries = 0; tries < 4; tries++) s3.faults.push(answer(503, 'SlowDown'));
    await expect(artifacts.receive(shipped)).rejects.toMatchObject({ code: 'CLUSTER_ARTIFACTS_UNREACHABLE' });
    expect(s3.faults).toEqual([]);
  });

  test('that does not answer is given up, at once if nobody waits for it any more', async () => {
    const silent = () => {};
    const store = await S3Store.open(s3.place('p'), CREDENTIALS, { timeoutMs: 50, pausesMs: [0] });
    s3.faults.push(silent, silent);
    await expect(store.get('0'.repeat(64))).rejects.toMatchObject({ code: 'CLUSTER_ARTIFACTS_UNREACHABLE' });
    const patient = await S3Store.open(s3.place('p'), CREDENTIALS);
    const controller = new AbortController();
    const before = s3.requests;
    s3.faults.push(silent);
    const waiting = patient.get('0'.repeat(64), controller.signal);
    await vi.waitFor(() => expect(s3.requests).toBeGreaterThan(before), { timeout: 60_000 });
    controller.abort(new Error('stopped'));
    await expect(waiting).rejects.toThrow('stopped');
    const dead = await S3Store.open('s3://bucket?endpoint=http://127.0.0.1:1', CREDENTIALS, PAUSES);
    await expect(dead.check()).rejects.toMatchObject({ code: 'CLUSTER_ARTIFACTS_UNREACHABLE' });
  });

  test('is used although the clock here is an hour off', async () => {
    const real = Date.now.bind(Date);
    for (const aheadMs of [3_600_000, -3_600_000]) {
      vi.spyOn(Date, 'now').mockImplementation(() => real() + aheadMs);
      const store = await S3Store.open(s3.place('clock'), CREDENTIALS, PAUSES);
      const before = s3.requests;
      await store.check();
      // Only the first one was refused.
      expect(s3.requests - before).toBe(4);
    }
  });

  test('is swept page by page', async () => {
    const store = await S3Store.open(s3.place('many'), CREDENTIALS, PAUSES);
    await store.put(`${'f'.repeat(64)}.${'0'.repeat(16)}`, Buffer.from(''));
    for (let index = 0; index < 1000; index++) s3.overwrite('many', `a${index}`, Buffer.from(''));
    s3.setTime('many', s3.keys('many').at(-1)!, new Date(0));
    await store.sweep();
    expect(s3.keys('many')).toHaveLength(1000);
  });

  test('is used with temporary credentials, which are signed', async () => {
    const tokens: unknown[] = [];
    const store = await S3Store.open(s3.place('p'), { ...CREDENTIALS, sessionToken: 'token' }, PAUSES);
    s3.faults.push((request, response) => {
      tokens.push(request.headers['x-amz-security-token'], request.headers.authorization);
      answer(503, 'SlowDown')(request, response);
    });
    await store.check();
    expect(tokens).toEqual(['token', expect.stringMatching(/SignedHeaders=\S*x-amz-security-token/)]);
  });
});
