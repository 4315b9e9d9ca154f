import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { counts, done, failed, statuses, task, tasks } from '../support/store.ts';
import type { StoreHarness } from './harness.ts';

export function transactionTests({ newPlace, open, isLocal }: StoreHarness): void {
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

  describe('writes of the same turn', () => {
    it('are committed together, before any of them is answered', async () => {
      // However slow the machine is, they are one slice of work.
      const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now());
      onTestFinished(() => clock.mockRestore());
      const store = await open();
      await store.addTasks('b', tasks(50));
      const seen: unknown[] = [];
      const writes = Array.from({ length: 50 }, async (_, index) => {
        await store.started('b', index + 1, 1);
        seen.push(await counts(store, 'b'));
      });
      expect(await counts(store, 'b')).toEqual({ open: 50 });
      await Promise.all(writes);
      expect(seen).toEqual(Array.from({ length: 50 }, () => ({ running: 50 })));
    });

    it('keep their order', async () => {
      const store = await open();
      const answers = await Promise.all([
        store.addTasks('b', tasks(2)),
        store.started('b', 1, 1),
        store.ended('b', 1, done(), 2),
        store.clear('b', ['completed']),
        store.addTasks('b', tasks(1)),
        store.addTasks('b', tasks(150, 'more')),
        store.ended('b', 153, failed, 3),
      ]);
      expect(answers).toMatchObject([
        { firstSeq: 1, lastSeq: 2 },
        undefined,
        undefined,
        1,
        { firstSeq: 3, lastSeq: 3 },
        { firstSeq: 4, lastSeq: 153 },
        undefined,
      ]);
      expect(await counts(store, 'b')).toEqual({ open: 151, failed: 1 });
      expect(await store.task('b', 't1')).toMatchObject({ seq: 3, status: 'open' });
    });

    it('are refused one by one', async () => {
      const store = await open();
      await store.addTasks('b', tasks(3));
      const answers = await Promise.allSettled([
        store.started('b', 1, 1),
        store.started('b', 9, 1),
        store.addTasks('b', [task('new'), task('t1')]),
        store.addTasks('c', [task('x'), task('x')]),
        store.started('c', 1, 1),
        store.ended('b', 2, failed, 1),
      ]);
      const codes = answers.map((answer) => (answer.status === 'rejected' ? answer.reason.code : 'kept'));
      const expected = ['kept', 'UNKNOWN_TASK', 'DUPLICATE_ID', 'DUPLICATE_ID', 'UNKNOWN_TASK', 'kept'];
      expect(codes).toEqual(expected);
      expect(await statuses(store, 'b')).toEqual({ t1: 'running', t2: 'failed', t3: 'open' });
      expect(await counts(store, 'b')).toEqual({ running: 1, failed: 1, open: 1 });
      expect(await store.batch('c')).toBeUndefined();
    });
  });

  describe('a long list of tasks', () => {
    it('is added whole, unseen until then, while the event loop goes round', async () => {
      const store = await open();
      let isAdded = false;
      // So many that they take several goes of 10 ms on the fastest machine.
      const adding = store.addTasks('b', tasks(100_000)).then((added) => {
        isAdded = true;
        return added;
      });
      const other = store.addTasks('other', tasks(1)).then(() => isAdded);
      let turns = 0;
      while (!isAdded) {
        const seen = await store.batches();
        // What is committed can be read before its writer knows: by other processes in every store, and in a database
        // server also on another connection of the same one. A read sees the whole of it or nothing.
        if (isLocal) expect(seen).toEqual([]);
        else if (seen.length > 0) expect(seen[0]!.counts.open).toBe(100_000);
        turns++;
        await turn();
      }
      expect(turns).toBeGreaterThan(3);
      expect(await adding).toMatchObject({ firstSeq: 1, lastSeq: 100_000 });
      expect(await counts(store, 'b')).toEqual({ open: 100_000 });
      // It has waited, and was not part of the same transaction.
      expect(await other).toBe(true);
    });

    it('takes nothing with it that others write, when it is refused at its end', async () => {
      const store = await open();
      const answers = await Promise.allSettled([
        store.addTasks('other', tasks(1)),
        store.addTasks('b', [...tasks(5000), task('t1')]),
        store.started('other', 1, 1),
      ]);
      expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
      expect((await store.batches()).map(({ name }) => name)).toEqual(['other']);
      expect(await statuses(store, 'other')).toEqual({ t1: 'running' });
    });
  });

  describe('a store that another process writes to', () => {
    it('sees what the other one has written', async () => {
      const place = newPlace();
      const [one, two] = [await open(place), await open(place)];
      await one.addTasks('b', tasks(2));
      await two.started('b', 1, 1);
      await Promise.all([one.ended('b', 1, done(), 2), two.addTasks('b', [task('x')])]);
      expect(await statuses(one, 'b')).toEqual({ t1: 'completed', t2: 'open', x: 'open' });
      // A batch that was cleared elsewhere and made anew is the new one here as well.
      await two.clear('b');
      await two.addTasks('b', [task('new')]);
      await one.lease('b');
      await one.started('b', 1, 1);
      expect(await statuses(two, 'b')).toEqual({ new: 'running' });
    });
  });
}
