import { describe, expect, it } from 'vitest';
import { ownIdentity } from '../../../src/store/process-identity.ts';
import type { Store } from '../../../src/store/store.ts';
import { counts, done, task, tasks } from '../support/store.ts';
import type { StoreHarness } from './harness.ts';

export function attemptTests({ newPlace, open }: StoreHarness): void {
  const dead = { ...ownIdentity(), start: '1' };

  const failure = (startedAt: number, message = 'no') => ({
    startedAt,
    endedAt: startedAt + 1,
    reason: 'error' as const,
    message,
  });

  /** `1 failed 10-11: no`. */
  async function told(store: Store, id: string): Promise<string[]> {
    return (await store.attemptsOf('b', id)).map(({ attempt, outcome, startedAt, endedAt, message }) =>
      [`${attempt} ${outcome} ${startedAt}-${endedAt ?? '?'}`, message].filter(Boolean).join(': '),
    );
  }

  describe('attempts', () => {
    it('that were tried again are kept beside the last one', async () => {
      const store = await open();
      await store.addTasks('b', [task('a')]);
      await store.started('b', 1, 10);
      await store.attemptFailed('b', 1, failure(10));
      await store.started('b', 1, 20);
      expect(await told(store, 'a')).toEqual(['1 failed 10-11: no', '2 running 20-?']);
      await store.ended('b', 1, done(), 25);
      expect(await told(store, 'a')).toEqual(['1 failed 10-11: no', '2 completed 20-25']);
    });

    it('that ended in the pause before the next one are told once', async () => {
      const store = await open();
      await store.addTasks('b', [task('a')]);
      await store.started('b', 1, 10);
      await store.attemptFailed('b', 1, failure(10));
      await store.ended('b', 1, { status: 'cancelled', message: 'enough' }, 15);
      expect(await told(store, 'a')).toEqual(['1 failed 10-11: no']);
      await store.reopen('b');
      expect(await told(store, 'a')).toEqual(['1 failed 10-11: no']);
    });

    it('of a process that died are crashed, whether the task runs again or not', async () => {
      const place = newPlace();
      const crashed = await open(place, { identity: dead });
      await crashed.addTasks('b', [task('again', { function: 'read_file' }), task('once')]);
      await crashed.lease('b');
      for (const seq of [1, 2]) await crashed.started('b', seq, 10);
      const store = await open(place, { now: () => 99 });
      await store.recover((name) => name === 'read_file');
      expect(await told(store, 'again')).toEqual(['1 crashed 10-?']);
      expect(await told(store, 'once')).toEqual([expect.stringMatching(/^1 crashed 10-99: /)]);
      await store.started('b', 1, 100);
      await store.ended('b', 1, done(), 110);
      expect(await told(store, 'again')).toEqual(['1 crashed 10-?', '2 completed 100-110']);
    });

    it('that were ended for a later run are cancelled, and their task is open again in the same write', async () => {
      const store = await open();
      await store.addTasks('b', [task('a'), task('other')]);
      const version = await store.version();
      const looks: Promise<string | undefined>[] = [];
      const look = async () => (await store.task('b', 'a'))?.status;
      const leave = store.onCommit(() => looks.push(look()));
      await store.putBack('b', 1, 'stopped', 15, 10);
      leave();
      expect(await Promise.all(looks)).toEqual(['open']);
      expect(await store.version()).not.toBe(version);
      expect(await counts(store, 'b')).toEqual({ open: 2 });
      expect(await told(store, 'a')).toEqual(['1 cancelled 10-15: stopped']);
      await store.started('b', 1, 20);
      await store.ended('b', 1, done(), 25);
      expect(await told(store, 'a')).toEqual(['1 cancelled 10-15: stopped', '2 completed 20-25']);
      await expect(store.putBack('b', 1, 'stopped', 30)).rejects.toMatchObject({ code: 'TASK_SETTLED' });
      expect(await counts(store, 'b')).toEqual({ open: 1, completed: 1 });
    });

    it('name the worker that each was placed on', async () => {
      const store = await open();
      await store.addTasks('b', [task('a'), task('b')]);
      const workers = async (id: string) =>
        (await store.attemptsOf('b', id)).map(({ worker }) => worker ?? 'none');
      await store.started('b', 1, 10);
      await store.placed('b', 1, 'w1');
      await store.attemptFailed('b', 1, failure(10));
      await store.started('b', 1, 20);
      expect((await store.task('b', 'a'))?.worker).toBeUndefined();
      await store.placed('b', 1, 'w2');
      expect((await store.task('b', 'a'))?.worker).toBe('w2');
      await store.putBack('b', 1, 'stopped', 25);
      expect((await store.task('b', 'a'))?.worker).toBeUndefined();
      await store.started('b', 1, 30);
      await store.ended('b', 1, { status: 'failed', reason: 'error', message: 'no' }, 35);
      await store.reopen('b');
      await store.started('b', 1, 40);
      await store.placed('b', 1, 'w3');
      await store.ended('b', 1, done(), 45);
      expect(await workers('a')).toEqual(['w1', 'w2', 'none', 'w3']);
      expect((await store.task('b', 'a'))?.worker).toBe('w3');
      // One that has ended, or has not begun, stays as it is.
      for (const seq of [1, 2]) await store.placed('b', seq, 'late');
      expect((await store.task('b', 'a'))?.worker).toBe('w3');
      expect(await workers('b')).toEqual([]);
    });

    it('are forgotten with their task', async () => {
      const store = await open();
      await store.addTasks('b', [task('a')]);
      await store.started('b', 1, 10);
      await store.attemptFailed('b', 1, failure(10));
      await store.ended('b', 1, done(), 15);
      await store.clear('b');
      expect(await store.attempts('b', { limit: 10 })).toEqual({ attempts: [], lastSeq: undefined });
    });

    it('of one task are told to a hundred, the newest', async () => {
      const store = await open();
      await store.addTasks('b', tasks(1));
      for (let attempt = 1; attempt <= 150; attempt++) {
        await store.started('b', 1, attempt);
        await store.attemptFailed('b', 1, failure(attempt));
      }
      await store.ended('b', 1, done(), 999);
      const numbers = (await store.attemptsOf('b', 't1')).map(({ attempt }) => attempt);
      expect(numbers).toEqual(Array.from({ length: 100 }, (_, index) => index + 51));
    });

    it('of unknown tasks and batches are none, and a wrong limit is refused', async () => {
      const store = await open();
      expect(await store.attemptsOf('b', 'a')).toEqual([]);
      expect(await store.attempts('b', { limit: 1 })).toEqual({ attempts: [], lastSeq: undefined });
      await expect(store.attempts('b', { limit: 0 })).rejects.toThrow('limit must be');
    });
  });

  it('the version changes when anybody writes, and only then', async () => {
    const place = newPlace();
    const [one, two] = [await open(place), await open(place)];
    const before = await one.version();
    expect(await one.version()).toBe(before);
    await two.addTasks('b', tasks(1));
    const after = await one.version();
    expect(after).not.toBe(before);
    await one.addTasks('b', [task('own')]);
    expect(await one.version()).not.toBe(after);
  });

  it('tells how long transactions take, to those who ask', async () => {
    const store = await open();
    const spans: number[] = [];
    const leave = store.onCommit((ms) => spans.push(ms));
    await store.addTasks('b', tasks(1));
    leave();
    await store.addTasks('b', [task('other')]);
    expect(spans).toEqual([expect.any(Number)]);
    expect(spans[0]).toBeGreaterThanOrEqual(0);
  });
}
