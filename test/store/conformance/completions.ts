import { describe, expect, it } from 'vitest';
import { counts, done, failed, task, tasks } from '../support/store.ts';
import type { StoreHarness } from './harness.ts';

export function completionTests({ open }: StoreHarness): void {
  async function codes(writes: readonly Promise<unknown>[]): Promise<string[]> {
    const answers = await Promise.allSettled(writes);
    return answers.map((answer) => (answer.status === 'rejected' ? answer.reason.code : 'kept'));
  }

  describe('tasks that complete in the same transaction', () => {
    it('are written whole: starts, ends, results and counts', async () => {
      const store = await open();
      await store.addTasks('b', tasks(600));
      const large = JSON.stringify('ä'.repeat(100_000));
      await store.started('b', 3, 5);
      await Promise.all(
        Array.from({ length: 600 }, (_, index) => {
          const seq = index + 1;
          const result = seq % 100 === 0 ? large : `${seq}`;
          return store.ended('b', seq, done(result), 20 + seq, seq === 3 ? undefined : 10 + (seq % 7));
        }),
      );
      expect(await counts(store, 'b')).toEqual({ completed: 600 });
      for (const record of await store.tasks('b', { limit: 1000 })) {
        const { seq } = record;
        const startedAt = seq === 3 ? 5 : 10 + (seq % 7);
        expect(record).toMatchObject({ status: 'completed', attempts: 1, startedAt, endedAt: 20 + seq });
        expect(await store.result('b', record.id)).toBe(seq % 100 === 0 ? large : `${seq}`);
      }
    });

    it('bring their binary data, which the batch keeps once and as long as its completed tasks', async () => {
      const store = await open();
      for (const batch of ['b', 'c']) await store.addTasks(batch, tasks(3));
      const blob = { id: 'f'.repeat(32), mimeType: 'image/png', bytes: Buffer.from([0, 1, 255]) };
      const completion = (seq: number) => ({
        seq,
        result: '{}',
        endedAt: 9,
        startedAt: 8,
        blobs: [blob, blob],
      });
      await store.completed('b', [completion(1), completion(2)]);
      await store.completed('c', [completion(1)]);
      const kept = async (batch: string, id = blob.id) => {
        const found = await store.blob(batch, id);
        return found && { ...found, bytes: Buffer.from(found.bytes) };
      };
      expect([await kept('b'), await kept('c')]).toEqual([blob, blob]);
      expect([await kept('b', 'e'.repeat(32)), await kept('d')]).toEqual([undefined, undefined]);
      await store.ended('b', 3, failed, 1);
      await store.clear('b', ['failed']);
      expect(await kept('b')).toEqual(blob);
      await store.clear('b', ['completed']);
      expect(await kept('b')).toBeUndefined();
      expect(await kept('c')).toEqual(blob);
      await store.clear('c');
      await store.addTasks('c', tasks(1));
      expect(await kept('c')).toBeUndefined();
    });

    it('are refused one by one, and the others are kept', async () => {
      const store = await open();
      await store.addTasks('b', tasks(5));
      await store.ended('b', 3, failed, 1);
      const writes = [
        store.ended('b', 1, done(), 9, 8),
        store.ended('b', 2, done(), 9, 8),
        store.ended('b', 3, done(), 9, 8),
        store.ended('b', 4, done('"first"'), 9, 8),
        store.ended('b', 4, done('"second"'), 9, 8),
        store.started('b', 2, 9),
        store.ended('b', 99, done(), 9, 8),
        store.addTasks('b', [task('new')]),
      ];
      const settled = 'TASK_SETTLED';
      const expected = ['kept', 'kept', settled, 'kept', settled, settled, 'UNKNOWN_TASK', 'kept'];
      expect(await codes(writes)).toEqual(expected);
      expect(await counts(store, 'b')).toEqual({ open: 2, completed: 3, failed: 1 });
      expect(await store.result('b', 't4')).toBe('"first"');
    });

    it('are kept, however many there are, where one of them is refused', async () => {
      const store = await open();
      await store.addTasks('b', tasks(600));
      await store.ended('b', 100, failed, 1);
      const answers = await codes(
        Array.from({ length: 600 }, (_, index) => store.ended('b', index + 1, done(), 9, 8)),
      );
      expect(answers.filter((code) => code !== 'kept')).toEqual(['TASK_SETTLED']);
      expect(await counts(store, 'b')).toEqual({ completed: 599, failed: 1 });
    });

    it('are all written or none, where they are given together', async () => {
      const store = await open();
      await store.addTasks('b', tasks(3));
      const completion = (seq: number) => ({ seq, result: `${seq}`, endedAt: 9, startedAt: 8 });
      const unknown = store.completed('b', [1, 4].map(completion));
      const known = store.completed('b', [2, 3].map(completion));
      expect(await codes([unknown, known])).toEqual(['UNKNOWN_TASK', 'kept']);
      expect(await counts(store, 'b')).toEqual({ open: 1, completed: 2 });
      expect(await store.result('b', 't3')).toBe('3');
    });

    it('note the start of another attempt of a running task', async () => {
      const store = await open();
      await store.addTasks('b', tasks(1));
      await store.started('b', 1, 1);
      await store.ended('b', 1, done(), 9, 5);
      expect(await store.task('b', 't1')).toMatchObject({ status: 'completed', attempts: 2, startedAt: 1 });
    });
  });

  describe('the slowest tasks', () => {
    it('are told in order, of the wanted statuses, those added first before others that took as long', async () => {
      const store = await open();
      await store.addTasks('b', tasks(6));
      await store.ended('b', 1, done(), 20, 10);
      await store.ended('b', 2, done(), 40, 10);
      await store.ended('b', 3, failed, 90, 10);
      await store.ended('b', 4, done(), 40, 10);
      await store.ended('b', 5, { status: 'cancelled', message: 'never started' }, 900);
      const of = (...statuses: ('completed' | 'failed')[]) => store.slowest('b', statuses, 0, 2);
      expect((await of('completed')).tasks.map(({ seq }) => seq)).toEqual([2, 4]);
      expect((await of('completed', 'failed')).tasks.map(({ seq }) => seq)).toEqual([3, 2]);
      expect((await store.slowest('b', ['completed'], 2, 9)).tasks.map(({ seq }) => seq)).toEqual([4]);
      expect((await of('completed')).nextSeq).toBeUndefined();
    });

    it('of a large batch are found in several looks', async () => {
      const store = await open();
      await store.addTasks('b', tasks(10_001));
      await store.ended('b', 10_001, done(), 20, 10);
      expect(await store.slowest('b', ['completed'], 0, 1)).toEqual({ tasks: [], nextSeq: 10_000 });
      const { tasks: found, nextSeq } = await store.slowest('b', ['completed'], 10_000, 1);
      expect([found.map(({ seq }) => seq), nextSeq]).toEqual([[10_001], undefined]);
    });
  });
}
