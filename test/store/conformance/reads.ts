import { describe, expect, it, onTestFinished } from 'vitest';
import { StoreWatch } from '../../../src/store/store-watch.ts';
import { done, failed, task, tasks } from '../support/store.ts';
import type { StoreHarness } from './harness.ts';

export function readTests({ newPlace, open }: StoreHarness): void {
  describe('reads of many', () => {
    it('find tasks by their ids and leave out those that do not exist', async () => {
      const store = await open();
      await store.addTasks('b', [task('a'), task('b\u0000', { function: 'write' }), task('c')]);
      await store.started('b', 1, 1);
      await store.ended('b', 3, { status: 'skipped', cause: 'a' }, 2);
      const found = await store.tasksById('b', ['c', 'nobody', 'a', 'a', 'b\u0000']);
      expect([...found.keys()].sort()).toEqual(['a', 'b\u0000', 'c']);
      expect(found.get('a')).toEqual({
        id: 'a',
        seq: 1,
        function: 'look',
        status: 'running',
        attempts: 1,
        cause: undefined,
      });
      expect(found.get('b\u0000')).toMatchObject({ seq: 2, function: 'write', status: 'open' });
      expect(found.get('c')).toMatchObject({ status: 'skipped', cause: 'a' });
      expect(await store.tasksById('nowhere', ['a'])).toEqual(new Map());
      expect(await store.tasksById('b', [])).toEqual(new Map());
    });

    it('outline open tasks that are no items, and read some of them whole', async () => {
      const store = await open();
      const options = { dependsOn: ['a'], priority: 'high' } as const;
      await store.addTasks('b', [task('a'), task('b'), task('c', { options }), task('d'), task('e')]);
      await store.addItems('b', 1, [task('a[0]')]);
      await store.ended('b', 2, done('1'), 1);
      await store.started('b', 4, 1);
      expect(await store.outlines('b', { limit: 2 })).toEqual([
        { seq: 1, id: 'a', function: 'look', options: {} },
        { seq: 3, id: 'c', function: 'look', options },
      ]);
      expect((await store.outlines('b', { afterSeq: 3, limit: 9 })).map(({ id }) => id)).toEqual(['e']);
      expect(await store.outlines('nowhere', { limit: 9 })).toEqual([]);
      const found = await store.openTasks('b', [5, 4, 3, 2, 77]);
      expect(found).toEqual([await store.task('b', 'e'), await store.task('b', 'c')]);
      expect(await store.openTasks('nowhere', [1])).toEqual([]);
    });

    it('end all open tasks and their items, and nothing else', async () => {
      const store = await open();
      await store.addTasks('b', tasks(250));
      await store.addItems('b', 1, [task('t1[0]')]);
      await store.started('b', 2, 1);
      await store.ended('b', 3, done('1'), 1);
      const end = { status: 'failed', reason: 'deadline', message: 'late' } as const;
      expect(await store.endOpen('b', end, 5)).toBe(249);
      expect((await store.batch('b'))?.counts).toMatchObject({
        open: 0,
        running: 1,
        completed: 1,
        failed: 249,
      });
      expect(await store.task('b', 't250')).toMatchObject({ ...end, endedAt: 5 });
      expect(await store.endOpen('b', end, 5)).toBe(0);
      await expect(store.endOpen('nowhere', end, 5)).rejects.toMatchObject({ code: 'UNKNOWN_BATCH' });
    });

    it('find whole results by the ids of their tasks', async () => {
      const store = await open();
      const long = JSON.stringify('é'.repeat(100_000));
      await store.addTasks('b', tasks(3));
      await store.ended('b', 1, done('"short"'), 1);
      await store.ended('b', 2, done(long), 1);
      await store.ended('b', 3, failed, 1);
      const found = await store.results('b', ['t3', 't2', 't1', 'nobody']);
      expect(Object.fromEntries(found)).toEqual({ t1: '"short"', t2: long });
    });

    it('give a batch and some of its tasks of the same moment', async () => {
      const place = newPlace();
      const [store, other] = [await open(place), await open(place)];
      await store.addTasks('b', tasks(20));
      const queries = [
        { status: ['open'], limit: 100 },
        { status: ['running', 'completed'], limit: 100 },
        { status: ['completed'], beforeSeq: 100, limit: 1 },
      ] as const;
      const writes = Array.from({ length: 20 }, async (_, index) => {
        await other.started('b', index + 1, 1);
        await other.ended('b', index + 1, done(), 2);
      });
      let isOver = false;
      const writing = Promise.all(writes).then(() => {
        isOver = true;
      });
      while (!isOver) {
        const { batch, tasks: found } = (await store.batchWithTasks('b', queries))!;
        expect(found[0]).toHaveLength(batch.counts.open);
        expect(found[1]).toHaveLength(batch.counts.running + batch.counts.completed);
        await new Promise((resolve) => setImmediate(resolve));
      }
      await writing;
      expect((await store.batchWithTasks('b', queries))!.tasks[2]).toMatchObject([{ id: 't20' }]);
      expect(await store.batchWithTasks('nowhere', queries)).toBeUndefined();
      await expect(store.batchWithTasks('b', [{ limit: -1 }])).rejects.toMatchObject({
        code: 'INVALID_VALUE',
      });
    });

    it('count the items of a group, and leave groups out of the slowest', async () => {
      const store = await open();
      await store.addTasks('b', [task('g', { options: { forEach: [1] } }), task('other')]);
      expect(await store.itemCounts('b', 1)).toMatchObject({ open: 0, completed: 0 });
      const items = [0, 1, 2].map((index) =>
        task(`g[${index}]`, { options: { item: { group: 'g', index } } }),
      );
      await store.addItems('b', 1, items);
      await store.ended('b', 3, done(), 50, 40);
      await store.ended('b', 4, failed, 60, 40);
      await store.ended('b', 1, done(), 1000, 1);
      const none = { running: 0, cancelled: 0, skipped: 0 };
      expect(await store.itemCounts('b', 1)).toEqual({ open: 1, completed: 1, failed: 1, ...none });
      expect(await store.itemCounts('b', 2)).toEqual({ open: 0, completed: 0, failed: 0, ...none });
      const { tasks: slowest } = await store.slowest('b', ['completed', 'failed'], 0, 5);
      expect(slowest.map(({ id }) => id)).toEqual(['g[1]', 'g[0]']);
    });

    it('do not count failures of items whose group completed, when all tasks have ended', async () => {
      const store = await open();
      await store.addTasks('b', [task('g', { options: { forEach: [1] } }), task('other')]);
      const items = [0, 1].map((index) => task(`g[${index}]`, { options: { item: { group: 'g', index } } }));
      await store.addItems('b', 1, items);
      const hasFailures = async () => (await store.batch('b'))!.hasFailures;
      expect(await hasFailures()).toBe(false);
      await store.ended('b', 3, failed, 50, 40);
      await store.ended('b', 4, { status: 'cancelled', message: 'late' }, 60, 40);
      expect(await hasFailures()).toBe(true);
      await store.ended('b', 1, done(), 70, 1);
      await store.ended('b', 2, done(), 80, 1);
      expect(await hasFailures()).toBe(false);
      await store.addTasks('b', [task('more')]);
      await store.ended('b', 5, failed, 90, 1);
      expect(await hasFailures()).toBe(true);
    });

    it('are refused when the store is closed', async () => {
      const store = await open();
      await store.close();
      for (const read of [store.batches(), store.tasksById('b', []), store.version(), store.asked('b')])
        await expect(read).rejects.toMatchObject({ code: 'STORE_CLOSED' });
    });
  });

  describe('a watch', () => {
    it('reports what others did while nobody looked to a reader that comes back', async () => {
      const place = newPlace();
      const [here, there] = [await open(place), await open(place)];
      for (const batch of ['changes', 'goes', 'stays']) await there.addTasks(batch, tasks(1));
      const told: string[] = [];
      const watch = new StoreWatch(here);
      watch.listen({
        changed: (batch, isNew) => told.push(`${batch} ${isNew ? 'is new' : 'changed'}`),
        gone: (batch) => told.push(`${batch} is gone`),
      });
      const stop = watch.start();
      await watch.ready();
      stop();
      expect(told).toEqual([]);
      await there.started('changes', 1, 1);
      await there.clear('goes');
      await there.addTasks('comes', tasks(1));
      onTestFinished(watch.start());
      await watch.ready();
      expect(told.sort()).toEqual(['changes changed', 'comes is new', 'goes is gone']);
    });
  });
}
