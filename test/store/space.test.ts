import { statSync } from 'node:fs';
import { DatabaseSync } from '@photostructure/sqlite';
import { describe, expect, it } from 'vitest';
import { done, newFile, opened, task } from './support/store.ts';

const TEXT = JSON.stringify('x'.repeat(10_000));

async function fill(file: string, batch: string) {
  const store = await opened(file);
  const some = Array.from({ length: 300 }, (_, index) => task(`t${index}`, { params: TEXT }));
  await store.addTasks(batch, some);
  for (let seq = 1; seq <= some.length; seq++) await store.ended(batch, seq, done(TEXT), 1);
  return store;
}

describe('clearing a batch', () => {
  it('gives its space back', async () => {
    const file = newFile();
    const store = await fill(file, 'b');
    await store.addTasks('other', [task('stays', { params: TEXT })]);
    await store.clear('b');
    const after = statSync(file).size + (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0);
    // 256 free pages are kept for what is added next.
    expect(after).toBeLessThan(2 * 2 ** 20);
    expect((await store.task('other', 'stays'))?.params).toBe(TEXT);
  });

  it('gives it back in a file of an earlier version, too', async () => {
    const file = newFile();
    const first = await fill(file, 'b');
    await first.close();
    const database = new DatabaseSync(file);
    database.exec('PRAGMA auto_vacuum = NONE; VACUUM');
    database.close();
    expect(statSync(file).size).toBeGreaterThan(4 * 2 ** 20);
    const store = await opened(file);
    await store.clear('b');
    expect(statSync(file).size).toBeLessThan(2 ** 20);
    await store.addTasks('b', [task('new')]);
    expect((await store.batch('b'))?.counts.open).toBe(1);
  });

  it('leaves the space for later while another process uses the file', async () => {
    const file = newFile();
    const store = await fill(file, 'b');
    const reader = new DatabaseSync(file);
    reader.exec('BEGIN');
    reader.prepare('SELECT count(*) FROM tasks').get();
    expect(await store.clear('b')).toBe(300);
    expect(await store.batch('b')).toBeUndefined();
    reader.close();
  });
});
