import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openStore } from '../../src/store/sqlite-store.ts';
import { startProgram } from './support/program.ts';
import { change } from './support/raw.ts';
import { counts, newFile, opened, task, tasks, temporaryFolder } from './support/store.ts';

const isRoot = process.getuid?.() === 0;
const works = (...[command, ...args]: string[]) => spawnSync(command!, args).status === 0;
/** Permissions of files hold for root as well without these rights. */
const OBEYING_PERMISSIONS = isRoot ? ['setpriv', '--bounding-set', '-dac_override,-dac_read_search'] : [];
const OWN_MOUNTS = isRoot ? ['unshare', '-m'] : ['unshare', '-Urm'];

describe('a store that is closed', () => {
  it('leaves one file, and refuses what comes later', async () => {
    const file = newFile();
    const store = await openStore(file);
    const adding = store.addTasks('b', tasks(300));
    const closing = store.close();
    expect(store.close()).toBe(closing);
    await closing;
    expect(await adding).toMatchObject({ lastSeq: 300 });
    expect(readdirSync(dirname(file))).toEqual(['.gitignore', 'volley.db']);
    await expect(store.started('b', 1, 1)).rejects.toMatchObject({ code: 'STORE_CLOSED' });
    await expect(store.lease('b')).rejects.toMatchObject({ code: 'STORE_CLOSED' });
    await expect(store.batches()).rejects.toMatchObject({ code: 'STORE_CLOSED' });
  });
});

describe('a damaged file', () => {
  /** Says that it was left as it is, and which files to move away. */
  const refusal = (file: string) => ({
    code: 'STORE_DAMAGED',
    details: { file },
    message: expect.stringContaining(`${file}-wal`),
  });

  it('that is no database is left as it is', async () => {
    const file = join(temporaryFolder(), 'volley.db');
    const text = 'this is a letter to my aunt\n'.repeat(500);
    writeFileSync(file, text);
    await expect(openStore(file)).rejects.toMatchObject(refusal(file));
    expect(readFileSync(file, 'utf8')).toBe(text);
    expect(readdirSync(dirname(file))).toEqual(['volley.db']);
  });

  it('that belongs to another program is left as it is', async () => {
    const file = join(temporaryFolder(), 'volley.db');
    change(file, 'CREATE TABLE photos (name TEXT)');
    const before = readFileSync(file);
    await expect(openStore(file)).rejects.toMatchObject(refusal(file));
    expect(readFileSync(file)).toEqual(before);
  });

  it('of which a part is missing is left as it is', async () => {
    const file = newFile();
    const store = await openStore(file);
    await store.addTasks('b', tasks(2000));
    await store.close();
    truncateSync(file, 20_000);
    const before = readFileSync(file);
    await expect(openStore(file)).rejects.toMatchObject(refusal(file));
    expect(readFileSync(file)).toEqual(before);
  });

  it('is noticed when the damaged place is read or written', async () => {
    const file = newFile();
    const store = await openStore(file);
    await store.addTasks('b', tasks(2000));
    await store.close();
    const bytes = readFileSync(file);
    // All but the schema and a few pages behind it.
    bytes.fill(0xa5, 40 * 4096);
    writeFileSync(file, bytes);
    const again = await opened(file);
    await expect(again.tasks('b', { limit: 5000 })).rejects.toMatchObject(refusal(file));
    const writes = Array.from({ length: 2000 }, (_, index) => again.started('b', index + 1, 1));
    const answers = await Promise.allSettled(writes);
    const reasons = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason.code] : []));
    expect(new Set(reasons)).toEqual(new Set(['STORE_DAMAGED']));
  });
});

describe('a file that is deleted while it is open', () => {
  it.each(['deleted', 'replaced'])('and %s takes no more writes', async (how) => {
    const file = newFile();
    const store = await opened(file);
    await store.addTasks('b', tasks(2));
    if (how === 'deleted') rmSync(dirname(file), { recursive: true });
    else {
      renameSync(file, `${file}.away`);
      await (await openStore(`${file}.other`)).close();
      renameSync(`${file}.other`, file);
    }
    const answers = await Promise.allSettled([
      store.started('b', 1, 1),
      store.addTasks('b', tasks(500, 'x')),
      store.addTasks('c', [task('a')]),
    ]);
    for (const answer of answers) {
      expect(answer).toMatchObject({
        status: 'rejected',
        reason: {
          code: 'STORE_UNAVAILABLE',
          details: { file },
          message: expect.stringMatching(/deleted or replaced/),
        },
      });
    }
    await store.close();
    expect(existsSync(file)).toBe(how === 'replaced');
  });
});

describe('a place that may not be written', () => {
  it.skipIf(isRoot && !works('setpriv', '--version'))(
    'is named, and nothing is half-written',
    { timeout: 180_000 },
    async () => {
      const folder = temporaryFolder();
      const [empty, full, locked] = ['empty', 'full', 'locked'].map((name) => join(folder, name)) as [
        string,
        string,
        string,
      ];
      mkdirSync(empty);
      for (const place of [full, locked]) {
        const store = await openStore(join(place, 'volley.db'));
        await store.addTasks('b', tasks(1));
        await store.close();
      }
      const before = readFileSync(join(full, 'volley.db'));
      chmodSync(join(locked, 'volley.db'), 0o444);
      for (const place of [empty, full]) {
        chmodSync(place, 0o555);
        onTestFinished(() => chmodSync(place, 0o755));
      }
      const files = [join(empty, '.volley', 'volley.db'), join(empty, 'volley.db')];
      files.push(
        join(full, 'volley.db'),
        join(locked, 'volley.db'),
        join(folder, 'empty/no/folder/x'),
        folder,
      );
      const program = startProgram('opens', files, OBEYING_PERMISSIONS);
      for (const file of files) {
        const answer = JSON.parse((await program.line())!);
        expect(answer).toMatchObject({ code: 'STORE_UNAVAILABLE', message: expect.stringContaining(file) });
      }
      expect(readdirSync(empty)).toEqual([]);
      expect(readFileSync(join(full, 'volley.db'))).toEqual(before);
    },
  );

  it('is named where a file stands in the way of the folder', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, '.volley'), '');
    const file = join(folder, '.volley', 'volley.db');
    await expect(openStore(file)).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      details: { file },
      cause: { syscall: 'mkdir' },
    });
  });
});

describe('a disk without room', () => {
  it('refuses the write, keeps what was there, and goes on when there is room', {
    timeout: 180_000,
  }, async (context) => {
    context.skip(
      !works(...OWN_MOUNTS, 'mount', '-t', 'tmpfs', 'tmpfs', '/tmp'),
      'no file system of its own here',
    );
    const folder = temporaryFolder();
    const script = `mount -t tmpfs -o size=4m tmpfs "$0" && head -c 1000000 /dev/zero > "$0/ballast" && exec "$@"`;
    const program = startProgram(
      'fills-the-disk',
      [join(folder, 'volley.db')],
      [...OWN_MOUNTS, 'sh', '-c', script, folder],
    );
    const { added, ...first } = JSON.parse((await program.line())!);
    expect(added).toBeGreaterThan(10);
    expect(first).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('the disk is full'),
      stored: added,
      counted: added,
    });
    expect(JSON.parse((await program.line())!)).toEqual({ stored: added + 1, added: added + 1 });
  });

  it('is treated alike where a limit of the system stands in for it', { timeout: 180_000 }, async () => {
    const file = newFile();
    const limit = ['sh', '-c', 'ulimit -f 4000 && exec "$0" "$@"'];
    const program = startProgram('fills-the-disk', [file], limit);
    const { added, ...first } = JSON.parse((await program.line())!);
    expect(added).toBeGreaterThan(10);
    expect(first).toMatchObject({ code: 'STORE_UNAVAILABLE', stored: added, counted: added });
    expect(await program.line()).toBe(JSON.stringify({ stored: added, added }));
    expect(await program.line()).toBeUndefined();
    const store = await opened(file);
    expect(await counts(store, 'b')).toEqual({ open: added });
    await store.addTasks('b', [task('one more')]);
  });
});
