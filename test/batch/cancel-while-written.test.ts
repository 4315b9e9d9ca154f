import { describe, expect, it, onTestFinished } from 'vitest';
import type { BatchAnswer } from '../../src/batch/answer.ts';
import { BatchExecutor } from '../../src/batch/batch-executor.ts';
import { VolleyError } from '../../src/core/errors.ts';
import type { Store } from '../../src/store/store.ts';
import { gate } from '../engine/support/gate.ts';
import { HeldCalls, openRig } from './support/rig.ts';

/** A batch of one task whose result is being written; its disk goes on, or not, when it is told to. */
async function writing() {
  const calls = new HeldCalls();
  const { coordinator, store, standing } = await openRig([calls.tool('held', { idempotent: true })]);
  const reached = gate<void>();
  const release = gate<void>();
  // The real store, whose disk is slow at the worst moment.
  const slow: Store = Object.assign(Object.create(store) as Store, {
    completed: async (...end: Parameters<Store['completed']>) => {
      reached.open();
      await release.passed;
      return store.completed(...end);
    },
    // Nothing of the start is on the disk either.
    started: async (...start: Parameters<Store['started']>) => {
      await release.passed;
      return store.started(...start);
    },
  });
  const executor = new BatchExecutor({ coordinator, store: slow });
  onTestFinished(() => executor.close());
  const told: string[] = [];
  executor.follow((event) => 'id' in event && told.push(event.type));
  executor.watch({ completed: ({ id }) => told.push(`${id} is safe`) });
  const ask = (request: object): Promise<BatchAnswer> => executor.handle(request);
  await ask({ action: 'add', id: 'a', function: 'held', params: { key: 'a' } });
  await ask({ action: 'start' });
  await calls.started('a');
  calls.finish('a');
  await reached.passed;
  return { ask, calls, executor, release, standing, told };
}

describe('a task whose result is being written', () => {
  it('is completed though it is cancelled, does not run again and does not count as cancelled', async () => {
    const { ask, calls, release, standing, told } = await writing();
    const cancelled = ask({ action: 'cancel', ids: ['a', 'a'] });
    const ended = ask({ action: 'wait', timeout: 0.2 });
    expect((await ended).data).toMatchObject({ finished: false });
    release.open();
    expect((await cancelled).data).toMatchObject({ cancelled: 0, counts: { completed: 1 } });
    const { data } = await ask({ action: 'wait' });
    expect(data).toMatchObject({ finished: true, succeeded: true });
    expect(data['problem']).toBeUndefined();
    expect(standing()).toEqual(['a completed']);
    expect(calls.begun).toEqual(['a']);
    expect(told).toEqual(['started', 'completed', 'a is safe']);
  });

  it('is completed though the batch is stopped at once, and nobody is told that it is open again', async () => {
    const { ask, executor, release, standing, told } = await writing();
    const stopped = ask({ action: 'stop', graceful: false });
    await expect.poll(() => executor.view()?.state).toBe('stopping');
    release.open();
    await stopped;
    await ask({ action: 'wait' });
    expect(standing()).toEqual(['a completed']);
    expect(told).toEqual(['started', 'completed', 'a is safe']);
  });

  it('is not told of as completed if that cannot be written', async () => {
    const { ask, release, standing, told } = await writing();
    release.fail(new VolleyError('STORE_UNAVAILABLE', 'The disk is full.'));
    expect((await ask({ action: 'wait' })).text).toContain('The disk is full');
    expect(standing()).toEqual(['a open']);
    expect(told).toEqual(['started']);
  });
});
