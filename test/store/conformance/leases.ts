import { describe, expect, it, vi } from 'vitest';
import { ownIdentity } from '../../../src/store/process-identity.ts';
import { counts, done, statuses, tasks } from '../support/store.ts';
import type { StoreHarness } from './harness.ts';

/** A process on another machine: whether it lives is judged by how long it has been silent. */
const elsewhere = { ...ownIdentity(), boot: 'there', host: 'elsewhere' };
const SILENCE_MS = 60_000;

export function leaseTests({ newPlace, open, isLocal }: StoreHarness): void {
  describe('a lease', () => {
    it('keeps everybody else from running the batch, and says who holds it and since when', async () => {
      const place = newPlace();
      const now = () => 1_700_000_000_000;
      const [one, two] = [await open(place, { now }), await open(place, { now })];
      await one.addTasks('b', tasks(1));
      await one.addTasks('free', tasks(1));
      const lease = await one.lease('b');
      const { pid, host } = ownIdentity();
      const holder = { pid, host, since: 1_700_000_000_000, seenAt: 1_700_000_000_000 };
      for (const store of [one, two]) {
        const error = await store.lease('b').catch((reason) => reason);
        expect(error).toMatchObject({ code: 'BATCH_HELD', details: { batch: 'b', holder } });
      }
      expect(await two.batch('b')).toMatchObject({ holder });
      await expect(two.clear('b')).rejects.toMatchObject({ code: 'BATCH_HELD' });
      // Others may add to it, and run another one.
      await two.addTasks('b', tasks(1, 'more'));
      await (await two.lease('free')).release();

      await lease.release();
      await lease.release();
      expect((await two.batch('b'))!.holder).toBeUndefined();
      expect((await two.lease('b')).epoch).toBeGreaterThan(lease.epoch);
      await expect(one.lease('b')).rejects.toMatchObject({ code: 'BATCH_HELD' });
    });

    it('is given to one of many who ask at the same moment', async () => {
      const store = await open();
      await store.addTasks('b', tasks(1));
      const answers = await Promise.allSettled([1, 2, 3].map(() => store.lease('b')));
      expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
    });

    it('is given back when the store is closed', async () => {
      const place = newPlace();
      const [one, two] = [await open(place), await open(place)];
      await one.addTasks('b', tasks(1));
      const leasing = one.lease('b');
      await one.close();
      const lease = await leasing;
      await two.lease('b');
      await expect(lease.release()).rejects.toMatchObject({ code: 'STORE_CLOSED' });
    });

    it('is not given back at an end that would leave open what was added meanwhile', async () => {
      const place = newPlace();
      const [one, two] = [await open(place), await open(place)];
      await one.addTasks('b', tasks(1));
      const lease = await one.lease('b');
      await one.ended('b', 1, done(), 1);
      // They are written in one transaction.
      const [, isOver] = await Promise.all([one.addTasks('b', tasks(1, 'more')), lease.end(2, false)]);
      expect(isOver).toBe(false);
      expect(await two.batch('b')).toMatchObject({ endedAt: undefined, holder: {} });
      await one.ended('b', 2, done(), 3);
      expect(await lease.end(4, false)).toBe(true);
      expect(await two.batch('b')).toMatchObject({ endedAt: 4, holder: undefined });
    });

    it('is for batches that exist', async () => {
      const store = await open();
      await expect(store.lease('nowhere')).rejects.toMatchObject({ code: 'UNKNOWN_BATCH' });
    });

    it('outlives that its own store clears the batch', async () => {
      const place = newPlace();
      const [one, two] = [await open(place), await open(place)];
      await one.addTasks('b', tasks(3));
      const lease = await one.lease('b');
      expect(await one.clear('b')).toBe(3);
      expect(await counts(one, 'b')).toEqual({});
      await expect(two.lease('b')).rejects.toMatchObject({ code: 'BATCH_HELD' });
      expect(lease.lost.aborted).toBe(false);
      await lease.release();
      await one.clear('b');
      expect(await two.batches()).toEqual([]);
    });
  });

  describe('a holder on another machine', () => {
    it('loses its batch after a long silence, hears of it, and cannot write late answers', async () => {
      const place = newPlace();
      const lost = await open(place, { identity: elsewhere });
      const store = await open(place, { now: () => Date.now() + SILENCE_MS });
      await lost.addTasks('b', tasks(2));
      await lost.addTasks('other', tasks(1));
      const lease = await lost.lease('b');
      const kept = await lost.lease('other');
      await lost.started('b', 1, 1);
      await store.lease('b');
      await store.recover(() => true, 'b');
      await store.started('b', 1, 2);

      const late = await Promise.allSettled([
        lost.ended('b', 1, done('"late"'), 3),
        lost.completed('b', [{ seq: 1, result: '"late"', endedAt: 3, startedAt: undefined }]),
        lost.started('b', 2, 3),
        lost.attemptFailed('b', 1, { startedAt: 1, endedAt: 3, reason: 'error', message: 'late' }),
        lost.putBack('b', 1, 'stopped', 3),
        lost.started('other', 1, 3),
      ]);
      expect(late.map((answer) => (answer.status === 'rejected' ? answer.reason.code : 'kept'))).toEqual([
        ...Array.from({ length: 5 }, () => 'BATCH_HELD'),
        'kept',
      ]);
      // It has ended for itself only.
      expect(await lease.end(4, true)).toBe(true);
      expect(await store.batch('b')).toMatchObject({ endedAt: undefined, holder: { pid: process.pid } });
      expect(lease.lost.aborted).toBe(true);
      expect(lease.lost.reason).toMatchObject({ code: 'BATCH_HELD' });
      expect(kept.lost.aborted).toBe(false);
      expect(await statuses(store, 'b')).toEqual({ t1: 'running', t2: 'open' });
    });

    it('is fenced from the second lease of its own batch, too', async () => {
      const place = newPlace();
      const first = await open(place, { identity: elsewhere });
      const second = await open(place, { now: () => Date.now() + SILENCE_MS });
      await first.addTasks('b', tasks(2));
      const lease = await first.lease('b');
      const taken = await second.lease('b');
      await expect(first.started('b', 1, 1)).rejects.toMatchObject({ code: 'BATCH_HELD' });
      await lease.release();
      expect((await second.batch('b'))!.holder).toMatchObject({ pid: process.pid });
      await taken.release();
      // With a lease of its own it may write again.
      await first.lease('b');
      await first.started('b', 1, 1);
      expect(await statuses(second, 'b')).toEqual({ t1: 'running', t2: 'open' });
    });

    it('hears of its loss at the next beat, though it writes nothing', async () => {
      const place = newPlace();
      const silent = await open(place, { identity: elsewhere, heartbeatMs: 5 });
      await silent.addTasks('b', tasks(1));
      const { lost } = await silent.lease('b');
      const store = await open(place, { now: () => Date.now() + SILENCE_MS });
      await store.lease('b');
      await vi.waitFor(() => expect(lost.aborted).toBe(true), 60_000);
    });
  });

  describe('a holder', () => {
    it.each([
      ['of a run of a machine of this name that is over', { boot: 'before' }, 0, !isLocal],
      ['of such a run, heard of long ago', { boot: 'before' }, 60_000, false],
      ['of another machine, heard of now', { boot: 'there', host: 'elsewhere' }, 0, true],
      ['of another machine, heard of long ago', { boot: 'there', host: 'elsewhere' }, 60_000, false],
      ['of another machine, heard of in the future', { boot: 'there', host: 'elsewhere' }, -60_000, false],
      ['with the number of another process now', { start: '1' }, 0, false],
      ['that is no more', { pid: 2 ** 22 + 1 }, 0, false],
    ])('%s', async (_name, difference, silenceMs, holds) => {
      const place = newPlace();
      const there = await open(place, { identity: { ...ownIdentity(), ...difference } });
      const here = await open(place, { now: () => Date.now() + silenceMs });
      await there.addTasks('b', tasks(1));
      await there.lease('b');
      expect((await here.batch('b'))!.holder !== undefined).toBe(holds);
      const leasing = here.lease('b').then(
        () => false,
        () => true,
      );
      expect(await leasing).toBe(holds);
    });
  });
}
