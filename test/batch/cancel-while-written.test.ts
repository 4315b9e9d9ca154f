import { expect, it } from 'vitest';
import { BatchExecutor } from '../../src/batch/batch-executor.ts';
import type { Store } from '../../src/store/store.ts';
import { gate } from '../engine/support/gate.ts';
import { HeldCalls, openRig } from './support/rig.ts';

it('a task that is cancelled while its result is being written is completed, and does not run again', async () => {
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
  await executor.handle({ action: 'add', id: 'a', function: 'held', params: { key: 'a' } });
  await executor.handle({ action: 'start' });
  await calls.started('a');
  calls.finish('a');
  await reached.passed;
  const cancelled = executor.handle({ action: 'cancel', all: true });
  const ended = executor.handle({ action: 'wait', timeout: 0.2 });
  expect((await ended).data).toMatchObject({ finished: false });
  release.open();
  await cancelled;
  const { data } = await executor.handle({ action: 'wait' });
  expect(data).toMatchObject({ finished: true, succeeded: true });
  expect(data['problem']).toBeUndefined();
  expect(standing()).toEqual(['a completed']);
  expect(calls.begun).toEqual(['a']);
  await executor.close();
});
