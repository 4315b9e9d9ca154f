import { describe, expect, it } from 'vitest';
import type { NewTask } from '../../../src/store/records.ts';
import { counts, done, failed, statuses, task, tasks } from '../support/store.ts';
import type { StoreHarness } from './harness.ts';

export function taskTests({ newPlace, open }: StoreHarness): void {
  describe('tasks of a store', () => {
    it('come back as they were added, also after the store was closed and opened again', async () => {
      const place = newPlace();
      const added: NewTask[] = [
        task('a'),
        task('b', {
          name: 'With all options',
          function: 'code_analyzer_tool',
          params: '{"action":"analyze"}',
          options: {
            priority: 'high',
            maxRetries: 3,
            timeoutMs: 1000,
            dependsOn: ['a'],
            onDependencyFailure: 'run',
            resources: { cpu: 0.5, exclusive: ['disk'] },
          },
        }),
      ];
      const store = await open(place, { now: () => 1234 });
      expect(await store.addTasks('audit', added)).toEqual({ firstSeq: 1, lastSeq: 2, addedAt: 1234 });
      const state = {
        batch: 'audit',
        status: 'open',
        attempts: 0,
        failures: 0,
        addedAt: 1234,
        startedAt: undefined,
        endedAt: undefined,
        reason: undefined,
        message: undefined,
        code: undefined,
        cause: undefined,
        resultBytes: undefined,
        preview: undefined,
      };
      const expected = added.map((one, index) => ({ ...one, ...state, seq: index + 1 }));
      await store.close();

      const again = await open(place);
      expect(await again.tasks('audit', { limit: 10 })).toEqual(expected);
      expect(await again.task('audit', 'b')).toEqual(expected[1]);
      expect(await again.task('audit', 'c')).toBeUndefined();
      expect(await again.task('other', 'a')).toBeUndefined();
    });

    it('go through their life: started, tried again, ended', async () => {
      const store = await open();
      await store.addTasks('b', tasks(5));
      await store.started('b', 1, 100);
      await store.started('b', 1, 200);
      expect(await store.task('b', 't1')).toMatchObject({ status: 'running', attempts: 2, startedAt: 100 });

      await store.ended('b', 1, done('{"x":1}'), 300);
      await store.ended('b', 2, { status: 'failed', reason: 'timeout', message: 'too slow', code: 'E' }, 301);
      await store.ended('b', 3, { status: 'cancelled', message: 'not wanted' }, 302);
      await store.ended('b', 4, { status: 'skipped', cause: 't2' }, 303);
      expect(await store.tasks('b', { limit: 10 })).toMatchObject([
        {
          status: 'completed',
          attempts: 2,
          startedAt: 100,
          endedAt: 300,
          resultBytes: 7,
          preview: '{"x":1}',
        },
        { status: 'failed', reason: 'timeout', message: 'too slow', code: 'E', endedAt: 301 },
        { status: 'cancelled', message: 'not wanted', endedAt: 302 },
        { status: 'skipped', cause: 't2', endedAt: 303 },
        { status: 'open' },
      ]);
      expect(await counts(store, 'b')).toEqual({
        completed: 1,
        failed: 1,
        cancelled: 1,
        skipped: 1,
        open: 1,
      });
    });

    it('never start or end again once they have ended', async () => {
      const store = await open();
      await store.addTasks('b', [task('a')]);
      await store.ended('b', 1, done('"first"'), 1);
      await expect(store.started('b', 1, 2)).rejects.toMatchObject({ code: 'TASK_SETTLED' });
      await expect(store.ended('b', 1, failed, 2)).rejects.toMatchObject({ code: 'TASK_SETTLED' });
      await expect(store.started('b', 2, 2)).rejects.toMatchObject({ code: 'UNKNOWN_TASK' });
      await expect(store.ended('nowhere', 1, failed, 2)).rejects.toMatchObject({ code: 'UNKNOWN_TASK' });
      expect(await store.result('b', 'a')).toBe('"first"');
      expect(await counts(store, 'b')).toEqual({ completed: 1 });
    });

    it.each([2, 5000])('are all refused when one id of %i is taken', async (count) => {
      const store = await open();
      await store.addTasks('b', [task('t2')]);
      const twice = [...tasks(count, 'x'), task('x1')];
      for (const list of [tasks(count), twice]) {
        const adding = store.addTasks('b', list);
        await expect(adding).rejects.toMatchObject({ code: 'DUPLICATE_ID', details: { batch: 'b' } });
      }
      await expect(store.addTasks('new', twice)).rejects.toMatchObject({ code: 'DUPLICATE_ID' });
      expect(await statuses(store, 'b')).toEqual({ t2: 'open' });
      expect((await store.batches()).map(({ name }) => name)).toEqual(['b']);
      // The numbers go on as if nothing had happened.
      expect(await store.addTasks('b', [task('next')])).toMatchObject({ firstSeq: 2 });
    });

    it('may have the same ids in different batches', async () => {
      const store = await open();
      await store.addTasks('a', tasks(2));
      await store.addTasks('b', tasks(2));
      await store.ended('b', 1, failed, 1);
      expect(await statuses(store, 'a')).toEqual({ t1: 'open', t2: 'open' });
      expect(await statuses(store, 'b')).toEqual({ t1: 'failed', t2: 'open' });
    });

    it.each([
      'a\0b',
      '\0',
      'half \ud800 of a pair',
      '\udc00\ud800',
      '😀 é e\u0301 \u202e \ufeff \uffff',
      "'; DROP TABLE tasks; --",
      '%_*?',
    ])('keep every character of %j', async (text) => {
      const store = await open();
      const odd = task(text, { name: text, function: text, params: JSON.stringify(text) });
      await store.addTasks(text, [odd, task(`${text}2`), task('failing')]);
      await store.ended(text, 1, done(JSON.stringify(text)), 1);
      await store.ended(text, 2, { status: 'skipped', cause: text }, 1);
      await store.ended(text, 3, { status: 'failed', reason: 'error', message: text, code: text }, 1);
      expect(await store.task(text, text)).toMatchObject(odd);
      expect(await store.result(text, text)).toBe(JSON.stringify(text));
      expect(await store.task(text, `${text}2`)).toMatchObject({ cause: text });
      expect(await store.task(text, 'failing')).toMatchObject({ message: text, code: text });
      expect(await store.batches()).toMatchObject([{ name: text }]);
      await expect(store.addTasks(text, [odd])).rejects.toMatchObject({ code: 'DUPLICATE_ID' });
      expect(await store.clear(text)).toBe(3);
    });

    it('are read in pages, of all or some statuses', async () => {
      const store = await open();
      await store.addTasks('before', tasks(3));
      await store.addTasks('b', tasks(10));
      await store.addTasks('behind', tasks(3));
      for (const seq of [2, 3, 7]) await store.ended('b', seq, failed, 1);
      for (const seq of [5, 8]) await store.ended('b', seq, done(), 1);
      const seqs = async (query: Parameters<typeof store.tasks>[1]) =>
        (await store.tasks('b', query)).map(({ seq }) => seq);
      expect(await seqs({ limit: 4 })).toEqual([1, 2, 3, 4]);
      expect(await seqs({ limit: 4, afterSeq: 8 })).toEqual([9, 10]);
      expect(await seqs({ limit: 2, status: ['failed'] })).toEqual([2, 3]);
      expect(await seqs({ limit: 2, status: ['failed'], afterSeq: 3 })).toEqual([7]);
      expect(await seqs({ limit: 4, status: ['completed', 'failed', 'completed'] })).toEqual([2, 3, 5, 7]);
      expect(await seqs({ limit: 4, status: ['completed', 'failed'], afterSeq: 7 })).toEqual([8]);
      expect(await seqs({ limit: 4, status: [] })).toEqual([]);
      expect(await store.tasks('nowhere', { limit: 1 })).toEqual([]);
      await expect(store.tasks('b', { limit: 1.5 })).rejects.toMatchObject({ code: 'INVALID_VALUE' });
    });
  });

  describe('a batch', () => {
    it('knows when it began and ended a run, and what it was told', async () => {
      const store = await open(newPlace(), { now: () => 7 });
      await store.addTasks('b', [task('a')]);
      expect(await store.batch('b')).toEqual({
        number: 1,
        name: 'b',
        createdAt: 7,
        startedAt: undefined,
        endedAt: undefined,
        options: undefined,
        counts: { open: 1, running: 0, completed: 0, failed: 0, cancelled: 0, skipped: 0 },
        cached: 0,
        hasFailures: false,
        holder: undefined,
      });
      await store.batchStarted('b', '{"max_concurrent":5}', 10);
      expect(await (await store.lease('b')).end(20, true)).toBe(true);
      expect(await store.batch('b')).toMatchObject({
        startedAt: 10,
        endedAt: 20,
        options: '{"max_concurrent":5}',
      });
      await store.batchStarted('b', '{}', 30);
      expect(await store.batch('b')).toMatchObject({ startedAt: 30, endedAt: undefined });
      await expect(store.batchStarted('nowhere', '{}', 1)).rejects.toMatchObject({ code: 'UNKNOWN_BATCH' });
      expect(await store.batch('nowhere')).toBeUndefined();
    });

    it('opens again what failed, was cancelled or was skipped, and keeps what completed', async () => {
      const store = await open();
      await store.addTasks('b', tasks(5));
      await store.started('b', 1, 1);
      await store.ended('b', 1, failed, 2);
      await store.ended('b', 2, { status: 'cancelled', message: '' }, 2);
      await store.ended('b', 3, { status: 'skipped', cause: 't1' }, 2);
      await store.ended('b', 4, done(), 2);
      expect(await store.reopen('b', ['t1', 't4', 't5'])).toBe(1);
      expect(await store.task('b', 't1')).toMatchObject({
        status: 'open',
        attempts: 1,
        startedAt: undefined,
        endedAt: undefined,
        reason: undefined,
        message: undefined,
      });
      await expect(store.reopen('b', ['t2', 'nobody'])).rejects.toMatchObject({ code: 'UNKNOWN_TASK' });
      expect(await counts(store, 'b')).toEqual({ open: 2, cancelled: 1, skipped: 1, completed: 1 });
      expect(await store.reopen('b')).toBe(2);
      expect(await counts(store, 'b')).toEqual({ open: 4, completed: 1 });
      await store.ended('b', 1, done('"at last"'), 3);
      expect(await store.result('b', 't1')).toBe('"at last"');
      await expect(store.reopen('nowhere')).rejects.toMatchObject({ code: 'UNKNOWN_BATCH' });
    });

    it('is cleared by status or as a whole', async () => {
      const store = await open();
      await store.addTasks('b', tasks(250));
      await store.addTasks('other', tasks(2));
      const long = JSON.stringify('x'.repeat(1000));
      for (let seq = 1; seq <= 120; seq++) void store.ended('b', seq, seq % 2 ? done(long) : failed, 1);
      expect(await store.clear('b', ['completed'])).toBe(60);
      expect(await counts(store, 'b')).toEqual({ failed: 60, open: 130 });
      expect(await store.result('b', 't1')).toBeUndefined();
      expect(await store.clear('b')).toBe(190);
      expect(await store.batch('b')).toBeUndefined();
      expect(await store.clear('b')).toBe(0);
      expect(await statuses(store, 'other')).toEqual({ t1: 'open', t2: 'open' });
      // A new one of the same name has nothing of the old.
      await store.addTasks('b', tasks(1));
      await store.started('b', 1, 1);
      expect(await statuses(store, 'b')).toEqual({ t1: 'running' });
    });
  });
}
