import { describe, expect, it } from 'vitest';
import type { Store } from '../../../src/store/store.ts';
import { task } from '../support/store.ts';
import type { StoreHarness } from './harness.ts';

export function resultTests({ open }: StoreHarness): void {
  /** A store with one completed task `a` of the batch `b`. */
  async function withResult(result: string): Promise<Store> {
    const store = await open();
    await store.addTasks('b', [task('a')]);
    await store.ended('b', 1, { status: 'completed', result }, 1);
    return store;
  }

  /** All of a result, read in ranges of one length. */
  async function inRanges(store: Store, length: number): Promise<string> {
    const { resultBytes } = (await store.task('b', 'a'))!;
    let text = '';
    for (let offset = 0; offset < resultBytes!; offset += length) {
      text += await store.result('b', 'a', { offset, length });
    }
    return text;
  }

  describe('a result', () => {
    it.each([0, 1, 197, 198, 199, 65_533, 65_534, 65_535, 200_000])(
      'of %i characters is read whole',
      async (length) => {
        const result = JSON.stringify('x'.repeat(length));
        const store = await withResult(result);
        expect(await store.result('b', 'a')).toBe(result);
        expect(await store.task('b', 'a')).toMatchObject({
          resultBytes: length + 2,
          preview: result.slice(0, 200),
        });
      },
    );

    it.each([1, 3, 50, 65_535, 65_536, 65_537])('is made up of its ranges of %i bytes', async (length) => {
      const short = JSON.stringify('aé€😀'.repeat(9));
      expect(await inRanges(await withResult(short), length)).toBe(short);
      if (length < 50) return;
      const long = JSON.stringify('aé€😀'.repeat(30_000));
      expect(await inRanges(await withResult(long), length)).toBe(long);
    });

    it('has ranges beyond its end, which are empty', async () => {
      const store = await withResult('"abc"');
      expect(await store.result('b', 'a', { offset: 3, length: 100 })).toBe('c"');
      expect(await store.result('b', 'a', { offset: 5, length: 1 })).toBe('');
      expect(await store.result('b', 'a', { offset: 1e9, length: 1e9 })).toBe('');
      expect(await store.result('b', 'a', { offset: 0, length: 0 })).toBe('');
      await expect(store.result('b', 'a', { offset: -1, length: 1 })).rejects.toThrow(/offset must be/);
    });

    it('has a preview that ends with a whole character', async () => {
      const store = await withResult(`"${'x'.repeat(198)}😀 and more"`);
      expect((await store.task('b', 'a'))!.preview).toBe(`"${'x'.repeat(198)}`);
    });

    it('is there for a completed task only', async () => {
      const store = await open();
      await store.addTasks('b', [task('a')]);
      expect(await store.result('b', 'a')).toBeUndefined();
      await store.ended('b', 1, { status: 'cancelled', message: 'no' }, 1);
      expect(await store.result('b', 'a')).toBeUndefined();
      expect(await store.result('b', 'nobody')).toBeUndefined();
    });
  });
}
