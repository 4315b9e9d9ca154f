import { describe, expect, it, onTestFinished } from 'vitest';
import type { BatchAnswer } from '../../src/batch/answer.ts';
import { BatchExecutor } from '../../src/batch/batch-executor.ts';
import { VolleyError } from '../../src/core/errors.ts';
import type { Store } from '../../src/store/store.ts';
import { gate } from '../engine/support/gate.ts';
import { HeldCalls, openRig } from './support/rig.ts';

/** A batch whose first task's result is being written; its disk goes on, or not, when it is told to. */
async function writing(first: object = {}, others: readonly object[] = []) {
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
  const tasks = [{ id: 'a', function: 'held', params: { key: 'a' }, ...first }, ...others];
  await ask({ action: 'add_batch', tasks });
  await ask({ action: 'start' });
  await calls.started('a');
  calls.finish('a');
  await reached.passed;
  return { ask, calls, executor, release, standing, told };
}

const DEPENDENTS = [
  { id: 'next', function: 'echo', params: { value: '${a}' } },
  { id: 'undo', function: 'echo', depends_on: ['a'], on_dependency_failure: 'on-failure' },
];
/** What is right where the result of `a` stands. */
const ALL_WELL = ['a completed', 'next completed', 'undo skipped'];

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
    expect(await standing()).toEqual(['a completed']);
    expect(calls.begun).toEqual(['a']);
    expect(told).toEqual(['started', 'completed', 'a is safe']);
  });

  it('is completed though the batch is stopped at once, and nobody is told that it is open again', async () => {
    const { ask, executor, release, standing, told } = await writing();
    const stopped = ask({ action: 'stop', graceful: false });
    await expect.poll(async () => (await executor.view())?.state).toBe('stopping');
    release.open();
    await stopped;
    await ask({ action: 'wait' });
    expect(await standing()).toEqual(['a completed']);
    expect(told).toEqual(['started', 'completed', 'a is safe']);
  });

  it('lets run what depends on it though it is cancelled, and does not let run what is for its failure', async () => {
    const { ask, release, standing } = await writing({}, DEPENDENTS);
    const cancelled = ask({ action: 'cancel', ids: ['a'] });
    const ended = ask({ action: 'wait', timeout: 0.1 });
    expect((await ended).data).toMatchObject({ finished: false });
    release.open();
    expect((await cancelled).data).toMatchObject({ cancelled: 0 });
    expect((await ask({ action: 'wait' })).data).toMatchObject({ finished: true });
    expect(await standing()).toEqual(ALL_WELL);
  });

  it('is completed though everything is cancelled, and what waits for it is cancelled', async () => {
    const { ask, release, standing } = await writing({}, DEPENDENTS.slice(0, 1));
    const cancelled = ask({ action: 'cancel', all: true });
    const ended = ask({ action: 'wait', timeout: 0.1 });
    expect((await ended).data).toMatchObject({ finished: false });
    release.open();
    expect((await cancelled).data).toMatchObject({ cancelled: 1 });
    expect((await standing()).map((line) => line.split(' ', 2).join(' '))).toEqual([
      'a completed',
      'next cancelled',
    ]);
  });

  it('is not told of as completed if that cannot be written', async () => {
    const { ask, release, standing, told } = await writing({ max_retries: 5 });
    release.fail(new VolleyError('STORE_UNAVAILABLE', 'The disk is full.'));
    expect((await ask({ action: 'wait' })).text).toContain('The disk is full');
    expect(await standing()).toEqual(['a open']);
    expect(told).toEqual(['started']);
  });
});
