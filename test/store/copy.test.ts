import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import pg from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { copyStore } from '../../src/store/copy/copy-store.ts';
import { copiedTables } from '../../src/store/copy/tables.ts';
import { loadStore } from '../../src/store/open/load-store.ts';
import type { Store } from '../../src/store/store.ts';
import { sharedPostgres } from '../support/postgres.ts';
import { newSchema } from './support/postgres.ts';
import { startProgram } from './support/program.ts';
import { counts, done, newFile, task, temporaryFolder } from './support/store.ts';

const address = await sharedPostgres();
/** Bytes, an unpaired surrogate, NUL, and the mark with which PostgreSQL stores such strings. */
const ODD = ['\ud800 half', 'a\0b', '\u0001mark', '', '"{},\\ NULL', 'ü🌍'];

async function opened(place: string): Promise<Store> {
  const store = await loadStore(place);
  onTestFinished(() => store.close().catch(() => undefined));
  return store;
}

/** Every table has something in it. */
async function fill(store: Store): Promise<void> {
  await store.addTasks('b', [
    ...ODD.map((name, index) => ({ ...task(`t${index}`), name, params: JSON.stringify({ name }) })),
    { ...task('group'), options: { forEach: '[1]' } },
    task('running'),
    task('retried'),
  ]);
  await store.addTasks('later', [task('open')]);
  const lease = await store.lease('b');
  await store.completed('b', [
    {
      seq: 1,
      result: JSON.stringify('x'.repeat(150_000)),
      endedAt: 5,
      startedAt: 1,
      durationMs: 4,
      isCached: true,
    },
    {
      seq: 2,
      result: '"\\ud800"',
      endedAt: 6,
      startedAt: 2,
      durationMs: 4,
      usage: { memoryMb: 1.25, cpuMs: undefined, durationMs: 0.1 },
      blobs: [{ id: 'picture', mimeType: 'image/png', bytes: Buffer.from([0, 255, 92]) }],
    },
  ]);
  await store.ended('b', 3, { status: 'failed', reason: 'error', message: ODD[1]! }, 7, 3, 4);
  await store.spent('b', 2, { inputTokens: 10, outputTokens: 5, costUsd: 0.1 });
  await store.addItems('b', 7, [task('group[0]')]);
  await store.started('b', 7, 8);
  await store.delivered('b', 7, 0, [{ index: 0, at: 9 }]);
  await store.logged('b', 7, ODD[0]!);
  await store.started('b', 8, 10);
  await store.placed('b', 8, 'w1');
  await store.started('b', 9, 11);
  await store.attemptFailed('b', 9, {
    startedAt: 11,
    endedAt: 12,
    durationMs: 1,
    reason: 'error',
    message: 'once',
    retryAt: 13,
  });
  await store.addOutput(
    'b',
    [{ seq: 8, attempt: 1, firstLine: 1, lines: [{ at: 10, stream: 'stdout', text: 'ü' }] }],
    1e6,
  );
  await store.cacheResults([
    {
      key: Buffer.from([1, 2]),
      function: 'f',
      createdAt: 1,
      signature: Buffer.from([3]),
      body: Buffer.from([0, 4]),
    },
  ]);
  await lease.release();
}

describe('a copy of a store', () => {
  it('has everything, from SQLite to PostgreSQL and back, and each table is there on both sides', async () => {
    const [first, schema, last] = [newFile(), newSchema(address), newFile()];
    const source = await opened(first);
    await fill(source);
    const tables = await copyStore(first, schema);
    expect(tables.filter(({ rows }) => rows === 0)).toEqual([]);
    expect(await copyStore(schema, last)).toEqual(tables);
    const [original, copy] = [await source.tasks('b', { limit: 50 }), await opened(last)];
    expect(await copy.tasks('b', { limit: 50 })).toEqual(original);
    expect(await copy.result('b', 't0')).toEqual(await source.result('b', 't0'));
    const client = new pg.Client({ connectionString: address });
    await client.connect();
    const { rows } = await client
      .query('SELECT relname AS name FROM pg_stat_user_tables WHERE schemaname = $1', [
        new URL(schema).searchParams.get('schema'),
      ])
      .finally(() => client.end());
    const others = [
      'events',
      'feed',
      'format',
      'leader',
      'leases',
      'requests',
      'served',
      'servers',
      'writers',
    ];
    const names = (rows as { name: string }[])
      .map(({ name }) => name)
      .filter((name) => !others.includes(name));
    expect(names.sort()).toEqual(
      copiedTables()
        .map(({ name }) => name)
        .sort(),
    );
  });

  it('is continued: what ran is recovered, and new batches and tasks get new numbers', async () => {
    const [first, schema] = [newFile(), newSchema(address)];
    await fill(await opened(first));
    await copyStore(first, schema);
    const copy = await opened(schema);
    const { reopened, crashed } = await copy.recover(() => false);
    expect([reopened.map(({ id }) => id), crashed.map(({ id }) => id)]).toEqual([
      ['group', 'retried'],
      ['running'],
    ]);
    expect((await copy.addTasks('b', [task('new')])).firstSeq).toBe(11);
    await copy.addTasks('third', [task('a')]);
    expect((await copy.batches()).map(({ number, name }) => [number, name])).toEqual([
      [1, 'b'],
      [2, 'later'],
      [3, 'third'],
    ]);
    const lease = await copy.lease('later');
    await copy.ended('later', 1, done('1'), 2, 1);
    await lease.release();
    expect(await counts(copy, 'later')).toEqual({ completed: 1 });
  });

  it('is refused while a batch runs, and where something is already', async () => {
    const [first, schema] = [newFile(), newSchema(address)];
    const other = join(temporaryFolder(), 'other.db');
    const source = await opened(first);
    await source.addTasks('b', [task('a')]);
    const lease = await source.lease('b');
    await expect(copyStore(first, other)).rejects.toMatchObject({ code: 'BATCH_HELD' });
    await lease.release();
    await expect(copyStore(newFile(), other)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(existsSync(other)).toBe(false);
    writeFileSync(other, '');
    await expect(copyStore(first, other)).rejects.toMatchObject({ code: 'STORE_NOT_EMPTY' });
    await copyStore(first, schema);
    await expect(copyStore(first, schema)).rejects.toMatchObject({ code: 'STORE_NOT_EMPTY' });
  });

  it.each(['a file', 'a schema'])(
    'to %s leaves nothing when it is given up, and can be made again',
    async (kind) => {
      const [first, to] = [newFile(), kind === 'a file' ? newFile() : newSchema(address)];
      const source = await opened(first);
      await source.addTasks('b', [task('a')]);
      const onProgress = () => {
        const other = new DatabaseSync(first);
        other.exec('UPDATE batches SET started_at = 1');
        other.close();
      };
      await expect(copyStore(first, to, { onProgress })).rejects.toMatchObject({ code: 'COPY_DIFFERS' });
      if (kind === 'a file') expect([existsSync(to), existsSync(`${to}.copying`)]).toEqual([false, false]);
      else expect(await (await opened(to)).batches()).toEqual([]);
      await copyStore(first, to);
      expect((await (await opened(to)).batches())[0]).toMatchObject({ name: 'b', startedAt: 1 });
    },
  );

  it.each(['a file', 'a schema'])(
    'to %s that was killed looks like nothing, and is made again',
    async (kind) => {
      const [first, to] = [newFile(), kind === 'a file' ? newFile() : newSchema(address)];
      await fill(await opened(first));
      // It prints nothing before its end.
      expect(await startProgram('copies-until-killed', [first, to]).line()).toBeUndefined();
      if (kind === 'a file') expect([existsSync(to), existsSync(`${to}.copying`)]).toEqual([false, true]);
      else expect(await (await opened(to)).batches()).toEqual([]);
      const tables = await copyStore(first, to);
      expect(tables[0]).toMatchObject({ table: 'batches', rows: 2 });
      expect(existsSync(`${to}.copying`)).toBe(false);
    },
  );
});
