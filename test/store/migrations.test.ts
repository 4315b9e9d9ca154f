import { readFileSync } from 'node:fs';
import { DatabaseSync } from '@photostructure/sqlite';
import { describe, expect, it } from 'vitest';
import { closeDatabase, openDatabase } from '../../src/store/database.ts';
import { MIGRATIONS, type Migration } from '../../src/store/migrations.ts';
import { keyOf } from '../../src/store/rows.ts';
import { openStore } from '../../src/store/sqlite-store.ts';
import { change } from './support/raw.ts';
import { newFile, opened, task } from './support/store.ts';

const newest = MIGRATIONS.at(-1)!.version;
/** What a later version might bring. */
const LATER: readonly Migration[] = [
  ...MIGRATIONS,
  { version: newest + 1, sql: 'ALTER TABLE store.tasks ADD COLUMN note TEXT' },
  {
    version: newest + 2,
    sql: `UPDATE tasks SET note = 'was ' || status FROM states WHERE states.key = tasks.key`,
  },
];

/** A file of today with one completed task. */
async function todaysFile(): Promise<string> {
  const file = newFile();
  const store = await openStore(file);
  await store.addTasks('b', [task('a')]);
  await store.ended('b', 1, { status: 'completed', result: '1' }, 1);
  await store.close();
  return file;
}

function rows(file: string, sql: string): unknown[] {
  const connection = new DatabaseSync(file);
  const found = connection.prepare(sql).all();
  connection.close();
  return found;
}

describe('the versions of a store', () => {
  it('are numbered from 1 without gaps', () => {
    expect(MIGRATIONS.map(({ version }) => version)).toEqual(MIGRATIONS.map((_, index) => index + 1));
  });

  it('are made up for, step by step, when an older file is opened', async () => {
    const file = await todaysFile();
    for (let times = 0; times < 2; times++) closeDatabase(await openDatabase(file, LATER));
    expect(rows(file, 'PRAGMA user_version')).toEqual([{ user_version: newest + 2 }]);
    expect(rows(file, 'SELECT id, note FROM tasks')).toEqual([{ id: 'a', note: 'was 2' }]);
  });

  it('bring requests to a file of the first version, which keeps what it has', async () => {
    const file = newFile();
    closeDatabase(await openDatabase(file, MIGRATIONS.slice(0, 1)));
    expect(rows(file, 'PRAGMA user_version')).toEqual([{ user_version: 1 }]);
    change(file, `INSERT INTO batches (name, created_at) VALUES ('b', 1)`);
    const store = await opened(file);
    await store.lease('b');
    const other = await opened(file);
    expect(await store.batches()).toMatchObject([{ name: 'b' }]);
    expect(await other.ask('b', '{}')).toBe(1);
    expect(await store.asked('b')).toEqual([{ id: 1, body: '{}' }]);
  });

  it('leave durations of a file of the fifth version to its times of day, where those can be right', async () => {
    const file = newFile();
    closeDatabase(await openDatabase(file, MIGRATIONS.slice(0, 5)));
    const year = 365 * 24 * 3_600_000;
    const ends = [
      [1, 150],
      [2, 50],
      [3, 100 + year],
    ] as const;
    change(
      file,
      `INSERT INTO batches (id, name, created_at, last_seq, completed) VALUES (1, 'b', 1, 3, 3);
       ${ends
         .map(
           ([seq, endedAt]) => `
       INSERT INTO tasks (key, batch, id, name, function, added_at, params) VALUES (${keyOf(1, seq)}, 1, '${seq}', 'n', 'f', 1, '{}');
       INSERT INTO states (key, status, attempts, started_at, attempt_at) VALUES (${keyOf(1, seq)}, 2, 1, 100, 100);
       INSERT INTO ends (key, ended_at, result_bytes, preview) VALUES (${keyOf(1, seq)}, ${endedAt}, 1, '1');`,
         )
         .join('')}`,
    );
    const store = await opened(file);
    const durations = (await store.tasks('b', { limit: 9 })).map(({ durationMs }) => durationMs);
    expect(durations).toEqual([50, undefined, undefined]);
    expect(await store.attemptsOf('b', '1')).toMatchObject([{ durationMs: 50 }]);
  });

  it.each(MIGRATIONS.slice(0, 9))(
    'bring the cache to a file of version $version, which keeps its results',
    async ({ version }) => {
      const file = newFile();
      closeDatabase(await openDatabase(file, MIGRATIONS.slice(0, version)));
      change(
        file,
        `INSERT INTO batches (id, name, created_at, last_seq, completed, open) VALUES (1, 'b', 1, 2, 1, 1);
       INSERT INTO tasks (key, batch, id, name, function, added_at, params)
         VALUES (${keyOf(1, 1)}, 1, 'x', 'n', 'f', 1, '{}'), (${keyOf(1, 2)}, 1, 'y', 'n', 'f', 1, '{}');
       INSERT INTO states (key, status, attempts, started_at) VALUES (${keyOf(1, 1)}, 2, 1, 1), (${keyOf(1, 2)}, 0, 0, NULL);
       INSERT INTO ends (key, ended_at, result_bytes, preview) VALUES (${keyOf(1, 1)}, 2, 1, '7');`,
      );
      const store = await opened(file);
      expect(await store.cacheUse()).toEqual([]);
      await store.completed('b', [{ seq: 2, result: '8', endedAt: 3, startedAt: 2, isCached: true }]);
      expect(await store.batch('b')).toMatchObject({ cached: 1, counts: { completed: 2 } });
      const tasks = await store.tasks('b', { limit: 9 });
      expect(tasks.map(({ preview, cached }) => [preview, cached])).toEqual([
        ['7', undefined],
        ['8', true],
      ]);
    },
  );

  it('are not changed by a step that fails', async () => {
    const file = await todaysFile();
    const failing = [...LATER, { version: newest + 3, sql: 'UPDATE missing SET x = 1' }];
    await expect(openDatabase(file, failing)).rejects.toThrow('no such table: missing');
    const store = await opened(file);
    expect(await store.result('b', 'a')).toBe('1');
  });

  it('are refused when they are newer than this program, and the file is left as it is', async () => {
    const file = await todaysFile();
    change(file, `PRAGMA user_version = ${newest + 1}`);
    const before = readFileSync(file);
    const error = await openStore(file).catch((reason) => reason);
    expect(error).toMatchObject({ code: 'STORE_NEWER', details: { version: newest + 1, newest } });
    expect(error.message).toContain('Update Volley');
    expect(readFileSync(file)).toEqual(before);
  });

  it('are brought about once when many open a new file at the same time', async () => {
    const file = newFile();
    const stores = await Promise.all(Array.from({ length: 8 }, () => opened(file)));
    await Promise.all(stores.map((store, index) => store.addTasks('b', [task(`t${index}`)])));
    expect((await stores[0]!.batch('b'))!.counts.open).toBe(8);
  });
});
