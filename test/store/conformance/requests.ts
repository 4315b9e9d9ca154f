import { describe, expect, it } from 'vitest';
import { task } from '../support/store.ts';
import type { StoreHarness } from './harness.ts';

export function requestTests({ newPlace, open }: StoreHarness): void {
  async function twoOnOne() {
    const place = newPlace();
    const [holder, other] = [await open(place), await open(place)];
    await holder.addTasks('b', [task('a')]);
    return { holder, other };
  }

  describe('what is asked of the process that runs a batch', () => {
    it('is found by it, answered, and forgotten', async () => {
      const { holder, other } = await twoOnOne();
      await holder.lease('b');
      const first = (await other.ask('b', '"one"'))!;
      const second = (await other.ask('b', '"two \\u0000"'))!;
      expect(await holder.asked('b')).toEqual([
        { id: first, body: '"one"' },
        { id: second, body: '"two \\u0000"' },
      ]);
      expect(await other.answerTo(first)).toBeUndefined();
      await holder.answer(first, '{"ok":true}');
      expect(await other.answerTo(first)).toBe('{"ok":true}');
      expect((await holder.asked('b')).map(({ id }) => id)).toEqual([second]);
      await other.forget(second);
      await other.forget(first);
      expect(await holder.asked('b')).toEqual([]);
      expect(await other.answerTo(first)).toBeUndefined();
    });

    it('is not taken where nobody else runs it', async () => {
      const { holder, other } = await twoOnOne();
      expect(await other.ask('b', '1')).toBeUndefined();
      await holder.lease('b');
      expect(await holder.ask('b', '1')).toBeUndefined();
      await expect(other.ask('x', '1')).rejects.toMatchObject({ code: 'UNKNOWN_BATCH' });
    });

    it('does not reach the next one that runs it', async () => {
      const { holder, other } = await twoOnOne();
      const lease = await holder.lease('b');
      await other.ask('b', '"stop"');
      await lease.release();
      await holder.lease('b');
      expect(await holder.asked('b')).toEqual([]);
    });
  });
}
