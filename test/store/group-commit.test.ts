import { describe, expect, it } from 'vitest';
import { openDatabase } from '../../src/store/database.ts';
import { SqliteStore } from '../../src/store/sqlite-store.ts';
import { lockForWriting } from './support/raw.ts';
import { counts, done, newFile, opened, statuses, tasks } from './support/store.ts';

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('writes of the same turn', () => {
  it('do not fail with one for which there is no room', async () => {
    const database = await openDatabase(newFile());
    const store = new SqliteStore(database, {});
    await store.addTasks('b', tasks(4));
    database.writer.exec('PRAGMA store.max_page_count = 60');
    const huge = JSON.stringify('x'.repeat(1_000_000));
    const answers = await Promise.allSettled([
      store.ended('b', 1, done('"small"'), 1),
      store.ended('b', 2, done(huge), 1),
      store.started('b', 3, 1),
      store.addTasks('b', tasks(20_000, 'many')),
      store.started('b', 4, 1),
    ]);
    const codes = answers.map((answer) => (answer.status === 'rejected' ? answer.reason.code : 'kept'));
    expect(codes).toEqual(['kept', 'STORE_UNAVAILABLE', 'kept', 'STORE_UNAVAILABLE', 'kept']);
    expect(await statuses(store, 'b')).toEqual({ t1: 'completed', t2: 'open', t3: 'running', t4: 'running' });
    expect(await counts(store, 'b')).toEqual({ completed: 1, open: 1, running: 2 });
    expect(await store.result('b', 't2')).toBeUndefined();
    database.writer.exec('PRAGMA store.max_page_count = 100000');
    await store.ended('b', 2, done(huge), 2);
    expect(await store.result('b', 't2')).toBe(huge);
    await store.close();
  });
});

describe('a store that another process writes to', () => {
  it('waits for its turn without holding the event loop', async () => {
    const file = newFile();
    const store = await opened(file);
    await store.addTasks('b', tasks(1));
    const unlock = lockForWriting(file);
    let isWritten = false;
    const writing = store.started('b', 1, 1).then(() => {
      isWritten = true;
    });
    for (let turns = 0; turns < 200; turns++) await turn();
    expect(isWritten).toBe(false);
    expect(await counts(store, 'b')).toEqual({ open: 1 });
    unlock();
    await writing;
    expect(await counts(store, 'b')).toEqual({ running: 1 });
  });
});
