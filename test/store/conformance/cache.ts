import { describe, expect, it } from 'vitest';
import type { CachedEntry } from '../../../src/coordinator/result-cache.ts';
import { counts, task } from '../support/store.ts';
import type { StoreHarness } from './harness.ts';

const keyOf = (name: string) => Buffer.from(name.padEnd(32, '.'));

function entry(name: string, body: string, createdAt = 1000, tool = 'look'): CachedEntry {
  return {
    key: keyOf(name),
    function: tool,
    createdAt,
    signature: Buffer.from('s'),
    body: Buffer.from(body),
  };
}

export function cacheTests({ newPlace, open }: StoreHarness): void {
  describe('the cache', () => {
    it('keeps results for all who use the store, and replaces those with the same key', async () => {
      const place = newPlace();
      const [store, other] = [await open(place), await open(place)];
      await store.cacheResults([entry('a', '1'), entry('b', '"\\u0000 ü"', 2000)]);
      await store.cacheResults([entry('a', '[2]', 3000)]);
      const found = await other.cachedResult(keyOf('a'), 100);
      expect(found).toMatchObject({ function: 'look', createdAt: 3000, usedAt: 3000 });
      expect(Buffer.from(found!.body).toString()).toBe('[2]');
      expect(Buffer.from((await other.cachedResult(keyOf('b'), 100))!.body).toString()).toBe('"\\u0000 ü"');
      expect(await other.cachedResult(keyOf('c'), 100)).toBeUndefined();
    });

    it('does not return a result that is larger than the caller can take', async () => {
      const store = await open();
      await store.cacheResults([entry('a', '12345')]);
      expect(await store.cachedResult(keyOf('a'), 4)).toBeUndefined();
      expect(await store.cachedResult(keyOf('a'), 5)).toBeDefined();
    });

    it('deletes what is too old, then what was not used for the longest time', async () => {
      const store = await open();
      await store.cacheResults(
        ['old', 'b', 'c', 'd'].map((name, index) => entry(name, '0123456789', 1000 * (index + 1))),
      );
      await store.cacheUsed([keyOf('b'), keyOf('missing')], 9000);
      // A clock that was set back does not make a result look unused.
      await store.cacheUsed([keyOf('b')], 10);
      expect(await store.trimCache({ createdAfter: 1500, maxBytes: 25 })).toBe(2);
      const left = await Promise.all(
        ['old', 'b', 'c', 'd'].map((name) => store.cachedResult(keyOf(name), 99)),
      );
      expect(left.map((one) => one !== undefined)).toEqual([false, true, false, true]);
      expect(await store.trimCache({ createdAfter: 0, maxBytes: 20 })).toBe(0);
    });

    it('says what it holds by function, and is cleared at once', async () => {
      const store = await open();
      expect(await store.cacheUse()).toEqual([]);
      const many = Array.from({ length: 250 }, (_, index) => entry(`n${index}`, '12', 5000 + index));
      await store.cacheResults([...many, entry('x', 'x'.repeat(900), 3000, 'search')]);
      expect(await store.cacheUse()).toEqual([
        { function: 'search', results: 1, bytes: 900, lastUsedAt: 3000 },
        { function: 'look', results: 250, bytes: 500, lastUsedAt: 5249 },
      ]);
      expect(await store.clearCache()).toBe(251);
      expect(await store.cacheUse()).toEqual([]);
    });

    it('outlives the batches whose results it has', async () => {
      const store = await open();
      await store.addTasks('b', [task('a')]);
      await store.cacheResults([entry('a', '1')]);
      await store.clear('b');
      expect(await store.cachedResult(keyOf('a'), 9)).toBeDefined();
    });
  });

  describe('a result from the cache', () => {
    const completed = (seq: number, isCached: boolean) => ({
      seq,
      result: '1',
      endedAt: 2,
      startedAt: 1,
      isCached,
    });

    it('is known as such, and counted until its task is cleared', async () => {
      const store = await open();
      await store.addTasks(
        'b',
        ['a', 'b', 'c', 'd'].map((id) => task(id)),
      );
      await store.completed('b', [completed(1, true), completed(2, false)]);
      await store.completed('b', [completed(3, true)]);
      await store.ended('b', 4, { status: 'failed', reason: 'error', message: 'no' }, 3);
      expect((await store.tasks('b', { limit: 9 })).map(({ cached }) => cached)).toEqual([
        true,
        undefined,
        true,
        undefined,
      ]);
      expect((await store.task('b', 'c'))?.cached).toBe(true);
      expect((await store.batch('b'))?.cached).toBe(2);
      await store.reopen('b');
      await store.clear('b', ['open']);
      expect([(await store.batch('b'))?.cached, await counts(store, 'b')]).toEqual([2, { completed: 3 }]);
      await store.clear('b', ['completed']);
      expect((await store.batch('b'))?.cached).toBe(0);
    });

    it('is not counted any more when its program starts over', async () => {
      const store = await open();
      await store.addTasks('b', [task('p', { options: { program: { seed: 1, vm: '1' } } })]);
      await store.lease('b');
      await store.addItems('b', 1, [task('p[0]'), task('p[1]')]);
      await store.completed('b', [completed(2, true), completed(3, true)]);
      await store.ended('b', 1, { status: 'failed', reason: 'error', message: 'no' }, 3);
      expect((await store.batch('b'))?.cached).toBe(2);
      await store.reopen('b', ['p']);
      expect((await store.batch('b'))?.cached).toBe(0);
    });
  });
}
