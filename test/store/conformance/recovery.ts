import { describe, expect, it } from 'vitest';
import { ownIdentity } from '../../../src/store/process-identity.ts';
import { counts, done, statuses, task, tasks } from '../support/store.ts';
import type { StoreHarness } from './harness.ts';

export function recoveryTests({ newPlace, open }: StoreHarness): void {
  /** Looks to others like a process that has died, though it is this one. */
  const dead = { ...ownIdentity(), start: '1' };

  describe('recovery', () => {
    it('opens what may run twice and leaves the rest to a person', async () => {
      const place = newPlace();
      const crashed = await open(place, { identity: dead });
      await crashed.addTasks('b', [
        task('again', { function: 'read_file' }),
        task('once', { function: 'send_mail' }),
        task('completed'),
        task('open'),
      ]);
      await crashed.lease('b');
      for (const seq of [1, 2, 3]) await crashed.started('b', seq, 1);
      await crashed.ended('b', 3, done(), 2);

      const store = await open(place, { now: () => 99 });
      const recovery = await store.recover((name) => name === 'read_file');
      expect(recovery).toEqual({
        reopened: [{ batch: 'b', id: 'again' }],
        crashed: [{ batch: 'b', id: 'once' }],
      });
      expect(await statuses(store, 'b')).toEqual({
        again: 'open',
        once: 'failed',
        completed: 'completed',
        open: 'open',
      });
      expect(await counts(store, 'b')).toEqual({ open: 2, failed: 1, completed: 1 });
      expect(await store.task('b', 'again')).toMatchObject({ attempts: 1, startedAt: undefined });
      expect(await store.task('b', 'once')).toMatchObject({
        attempts: 1,
        reason: 'crashed',
        endedAt: 99,
        message: expect.stringContaining('send_mail'),
      });
      expect(await store.recover(() => true)).toEqual({ reopened: [], crashed: [] });
      // A person decides that it runs again.
      expect(await store.reopen('b')).toBe(1);
      expect(await statuses(store, 'b')).toMatchObject({ once: 'open' });
    });

    it.each([false, true])(
      'takes for the end of a crashed task when its process was last heard of, under a lease: %s',
      async (isLeased) => {
        const place = newPlace();
        const crashed = await open(place, { identity: dead, now: () => 50 });
        await crashed.addTasks('b', [task('early'), task('late')]);
        await crashed.lease('b');
        await crashed.started('b', 1, 40);
        await crashed.started('b', 2, 60);
        // Nobody looked after it for a day.
        const store = await open(place, { now: () => 86_400_000 });
        if (isLeased) await store.lease('b');
        await store.recover(() => false, isLeased ? 'b' : undefined);
        expect(await store.tasks('b', { limit: 9 })).toMatchObject([
          { startedAt: 40, endedAt: 50 },
          { startedAt: 60, endedAt: 60 },
        ]);
      },
    );

    it('opens what waited for its next attempt, whatever its tool: it was not in the middle of anything', async () => {
      const place = newPlace();
      const crashed = await open(place, { identity: dead });
      await crashed.addTasks('b', [task('waits'), task('tries')]);
      await crashed.lease('b');
      for (const seq of [1, 2]) {
        await crashed.started('b', seq, 1);
        await crashed.attemptFailed('b', seq, {
          startedAt: 1,
          endedAt: 2,
          reason: 'error',
          message: 'not yet',
        });
      }
      await crashed.started('b', 2, 3);

      const store = await open(place);
      expect(await store.recover(() => false)).toEqual({
        reopened: [{ batch: 'b', id: 'waits' }],
        crashed: [{ batch: 'b', id: 'tries' }],
      });
      expect(await counts(store, 'b')).toEqual({ open: 1, failed: 1 });
      expect(await store.attemptsOf('b', 'waits')).toMatchObject([
        { attempt: 1, outcome: 'failed', message: 'not yet' },
      ]);
      expect(await store.attemptsOf('b', 'tries')).toMatchObject([
        { outcome: 'failed' },
        { outcome: 'crashed' },
      ]);
    });

    it('leaves alone what a living process runs, itself included', async () => {
      const place = newPlace();
      const [one, two] = [await open(place), await open(place)];
      for (const batch of ['held', 'left']) {
        await one.addTasks(batch, tasks(1));
        await one.started(batch, 1, 1);
      }
      const lease = await one.lease('held');
      expect(await two.recover(() => true)).toEqual({ reopened: [{ batch: 'left', id: 't1' }], crashed: [] });
      expect(await two.recover(() => true, 'held')).toEqual({ reopened: [], crashed: [] });
      expect(await one.recover(() => true)).toEqual({ reopened: [], crashed: [] });
      expect(await statuses(one, 'held')).toEqual({ t1: 'running' });
      await lease.release();
    });

    it('of a batch that was just leased finds what another has left in it', async () => {
      const store = await open();
      for (const batch of ['mine', 'other']) {
        await store.addTasks(batch, tasks(1));
        await store.started(batch, 1, 1);
      }
      await store.lease('mine');
      expect(await store.recover(() => false, 'mine')).toEqual({
        reopened: [],
        crashed: [{ batch: 'mine', id: 't1' }],
      });
      expect(await statuses(store, 'other')).toEqual({ t1: 'running' });
    });

    it('changes nothing if it cannot ask about a function', async () => {
      const store = await open();
      await store.addTasks('b', [...tasks(150), task('odd', { function: 'odd' })]);
      for (let seq = 1; seq <= 151; seq++) void store.started('b', seq, 1);
      const ask = (name: string) => {
        if (name === 'odd') throw new Error('who is that?');
        return true;
      };
      await expect(store.recover(ask)).rejects.toThrow('who is that?');
      expect(await counts(store, 'b')).toEqual({ running: 151 });
    });
  });
}
