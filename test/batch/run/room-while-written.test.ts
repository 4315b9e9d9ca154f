import { expect, it, onTestFinished } from 'vitest';
import { BatchExecutor } from '../../../src/batch/executor/batch-executor.ts';
import { RunJournal } from '../../../src/batch/run/journal.ts';
import type { Store } from '../../../src/store/store.ts';
import { gate } from '../../engine/support/gate.ts';
import { HeldCalls, openRig } from '../support/rig.ts';

/** A batch of held calls, one at a time, whose results are not written before the gate is open. */
async function batchOf(keys: readonly string[], idempotent: boolean) {
  const calls = new HeldCalls();
  const { coordinator, store, standing } = await openRig([calls.tool('held', { idempotent })]);
  const release = gate<void>();
  const reached = gate<void>();
  const slow: Store = Object.assign(Object.create(store) as Store, {
    isRemote: true,
    completed: async (...end: Parameters<Store['completed']>) => {
      reached.open();
      await release.passed;
      return store.completed(...end);
    },
  });
  const executor = new BatchExecutor({ coordinator, store: slow });
  onTestFinished(() => executor.close({ graceMs: 0 }));
  const tasks = keys.map((key) => ({ id: key, function: 'held', params: { key } }));
  await executor.handle({ action: 'add_batch', tasks });
  await executor.handle({ action: 'start', max_concurrent: 1 });
  return { calls, executor, reached, release, standing };
}

it('a task starts in the place of one whose result is being written, which shows as running no more', async () => {
  const { calls, executor, reached, release, standing } = await batchOf(['a', 'b'], true);
  await calls.started('a');
  calls.finish('a');
  await calls.started('b');
  await reached.passed;
  expect((await executor.view())?.running.map(({ id }) => id)).toEqual(['b']);
  expect(await standing()).not.toContain('a completed');
  calls.finish('b');
  release.open();
  await executor.handle({ action: 'wait' });
  expect(await standing()).toEqual(['a completed', 'b completed']);
});

it('a task that must not run twice keeps its place until its result is written', async () => {
  const { calls, executor, reached, release, standing } = await batchOf(['a', 'b'], false);
  await calls.started('a');
  calls.finish('a');
  await reached.passed;
  expect(calls.begun).toEqual(['a']);
  release.open();
  await calls.started('b');
  expect(await standing()).toEqual(['a completed', 'b running']);
  calls.finish('b');
  await executor.handle({ action: 'wait' });
});

it('only so many results, and so much of them, wait for their write', async () => {
  const release = gate<void>();
  const store = { isRemote: true, completed: () => release.passed } as unknown as Store;
  const journal = new RunJournal(store, 'b', () => {});
  const many = Array.from({ length: 2000 }, (_, seq) => journal.completed(seq, '1', 1));
  expect(journal.mayWait(1)).toBe(false);
  release.open();
  await Promise.all(many);
  expect([journal.mayWait(1), journal.mayWait(2 ** 24), journal.mayWait(2 ** 24 + 1)]).toEqual([
    true,
    true,
    false,
  ]);
  const local = { completed: () => release.passed } as unknown as Store;
  expect(new RunJournal(local, 'b', () => {}).mayWait(1)).toBe(false);
});
