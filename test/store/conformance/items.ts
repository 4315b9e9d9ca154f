import { describe, expect, it } from 'vitest';
import { ownIdentity } from '../../../src/store/process-identity.ts';
import type { NewTask } from '../../../src/store/records.ts';
import type { Store } from '../../../src/store/store.ts';
import { counts, done, failed, statuses, task } from '../support/store.ts';
import type { StoreHarness } from './harness.ts';

const group = task('g', { options: { forEach: ['a', 'b', 'c'] } });

function item(index: number): NewTask {
  return task(`g[${index}]`, { options: { item: { group: 'g', index } } });
}

function items(count: number, from = 0): NewTask[] {
  return Array.from({ length: count }, (_, index) => item(from + index));
}

/** A batch `b` with a task, a group with items, and another task: numbers 1, 2, 3 to 2 + count, 3 + count. */
async function filled(store: Store, count: number): Promise<void> {
  await store.addTasks('b', [task('first'), group]);
  await store.addItems('b', 2, items(count));
  await store.addTasks('b', [task('last')]);
}

export function itemTests({ newPlace, open }: StoreHarness): void {
  describe('items of groups', () => {
    it('are tasks of their batch, in order, and can be left out', async () => {
      const store = await open();
      await store.addTasks('b', [task('first'), group]);
      const added = await store.addItems('b', 2, items(2));
      expect(added).toMatchObject({ firstSeq: 3, lastSeq: 4 });
      await store.addItems('b', 2, items(1, 2));
      expect((await store.tasks('b', { limit: 10 })).map(({ id }) => id)).toEqual([
        'first',
        'g',
        'g[0]',
        'g[1]',
        'g[2]',
      ]);
      const others = { status: ['open'], limit: 10, withoutItems: true } as const;
      expect((await store.tasks('b', others)).map(({ id }) => id)).toEqual(['first', 'g']);
      expect((await store.tasks('b', { limit: 10, withoutItems: true })).map(({ id }) => id)).toEqual([
        'first',
        'g',
      ]);
      expect(await counts(store, 'b')).toEqual({ open: 5 });
      expect((await store.tasksById('b', ['g', 'g[1]'])).get('g[1]')).toMatchObject({ groupSeq: 2 });
      expect((await store.tasksById('b', ['g'])).get('g')).toMatchObject({ groupSeq: undefined });
    });

    it('are read page by page, by status', async () => {
      const store = await open();
      await filled(store, 250);
      await store.ended('b', 3, done(), 1, 1);
      const page = await store.items('b', 2, { status: ['open'], limit: 2 });
      expect(page.map(({ id }) => id)).toEqual(['g[1]', 'g[2]']);
      expect(page[0]).toMatchObject({ options: { item: { group: 'g', index: 1 } }, status: 'open' });
      const next = await store.items('b', 2, { status: ['open'], limit: 1000, afterSeq: page[1]!.seq });
      expect(next).toHaveLength(247);
      expect((await store.items('b', 2, { status: ['completed'], limit: 10 })).map(({ id }) => id)).toEqual([
        'g[0]',
      ]);
      expect(await store.items('b', 2, { limit: 1000 })).toHaveLength(250);
      expect(await store.items('b', 1, { limit: 10 })).toEqual([]);
    });

    it('are added all or none, also many at once', async () => {
      const store = await open();
      await filled(store, 1);
      const many = [...items(200, 1), item(0)];
      await expect(store.addItems('b', 2, many)).rejects.toMatchObject({ code: 'DUPLICATE_ID' });
      expect(await store.items('b', 2, { limit: 1000 })).toHaveLength(1);
      expect(await counts(store, 'b')).toEqual({ open: 4 });
    });

    it('give their results in order, as long as those fit', async () => {
      const store = await open();
      await filled(store, 4);
      const long = JSON.stringify('x'.repeat(100_000));
      await store.completed('b', [
        { seq: 3, result: '1', endedAt: 1, startedAt: 1 },
        { seq: 4, result: long, endedAt: 1, startedAt: 1 },
        { seq: 6, result: '4', endedAt: 1, startedAt: 1 },
      ]);
      await store.ended('b', 5, failed, 1);
      const page = { afterSeq: 0, limit: 10 };
      expect(await store.itemResults('b', 2, { ...page, maxBytes: 1_000_000 })).toEqual([
        { seq: 3, status: 'completed', result: '1' },
        { seq: 4, status: 'completed', result: long },
        { seq: 5, status: 'failed', result: undefined },
        { seq: 6, status: 'completed', result: '4' },
      ]);
      const small = await store.itemResults('b', 2, { afterSeq: 3, limit: 2, maxBytes: 10 });
      expect(small).toMatchObject([{ seq: 4, result: undefined }, { seq: 5 }]);
    });

    it('end together, if they are open', async () => {
      const store = await open();
      await filled(store, 120);
      await store.ended('b', 3, done(), 1, 1);
      expect(await store.endItems('b', 2, { status: 'cancelled', message: 'no' }, 5)).toBe(119);
      expect(await counts(store, 'b')).toEqual({ open: 3, completed: 1, cancelled: 119 });
      expect(await store.task('b', 'g[1]')).toMatchObject({ message: 'no', endedAt: 5 });
    });

    it('are reopened with their group, which a single item reopens', async () => {
      const store = await open();
      await filled(store, 3);
      await store.ended('b', 3, done(), 1, 1);
      for (const seq of [4, 5, 2]) await store.ended('b', seq, failed, 1, 1);
      expect(await store.reopen('b', ['g[1]'])).toBe(2);
      expect(await statuses(store, 'b')).toMatchObject({
        g: 'open',
        'g[0]': 'completed',
        'g[1]': 'open',
        'g[2]': 'failed',
      });
      await store.ended('b', 4, failed, 1, 1);
      await store.ended('b', 2, failed, 1, 1);
      expect(await store.reopen('b', ['g'])).toBe(3);
      expect(await statuses(store, 'b')).toMatchObject({
        g: 'open',
        'g[0]': 'completed',
        'g[1]': 'open',
        'g[2]': 'open',
      });
      expect(await counts(store, 'b')).toEqual({ open: 5, completed: 1 });
    });

    it('are reopened with everything else, except those of running and completed groups', async () => {
      const store = await open();
      await filled(store, 150);
      for (let seq = 3; seq <= 152; seq++) await store.ended('b', seq, failed, 1, 1);
      await store.started('b', 2, 1);
      expect(await store.reopen('b')).toBe(0);
      await expect(store.reopen('b', ['g[0]'])).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
      await store.completed('b', [{ seq: 2, result: undefined, endedAt: 1, startedAt: undefined }]);
      expect(await store.reopen('b')).toBe(0);
      expect(await store.reopen('b', ['g[0]'])).toBe(2);
      expect(await store.reopen('b')).toBe(149);
      expect(await counts(store, 'b')).toEqual({ open: 153 });
    });

    it('are deleted with their group, and only then', async () => {
      const store = await open();
      await filled(store, 130);
      await store.ended('b', 3, done(), 1, 1);
      await store.ended('b', 1, done(), 1, 1);
      expect(await store.clear('b', ['completed'])).toBe(1);
      expect(await counts(store, 'b')).toEqual({ open: 131, completed: 1 });
      await store.ended('b', 2, failed, 1, 1);
      expect(await store.clear('b', ['failed'])).toBe(131);
      expect(await statuses(store, 'b')).toEqual({ last: 'open' });
      expect(await counts(store, 'b')).toEqual({ open: 1 });
    });

    it('do not keep a run from ending, and their group is recovered whatever its function', async () => {
      const place = newPlace();
      const crashed = await open(place, { identity: { ...ownIdentity(), start: '1' } });
      await filled(crashed, 2);
      await crashed.lease('b');
      await crashed.started('b', 2, 1);
      await crashed.started('b', 3, 1);
      const store = await open(place);
      expect(await store.recover(() => false)).toEqual({
        reopened: [{ batch: 'b', id: 'g' }],
        crashed: [{ batch: 'b', id: 'g[0]' }],
      });
      for (const seq of [1, 5, 2]) await store.ended('b', seq, done(), 1, 1);
      const lease = await store.lease('b');
      expect(await lease.end(1, false)).toBe(true);
    });

    it('keep no result that is too large', async () => {
      const store = await open();
      await filled(store, 1);
      await store.completed('b', [{ seq: 2, result: undefined, endedAt: 1, startedAt: 1 }]);
      expect(await store.task('b', 'g')).toMatchObject({ status: 'completed', resultBytes: undefined });
      expect(await store.result('b', 'g')).toBeUndefined();
    });
  });
}
