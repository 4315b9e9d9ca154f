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

/** A journal whose writes end one by one, with `end`. */
function journalOf(store: object) {
  const writes: (() => void)[] = [];
  const completed = () => new Promise<void>((resolve) => writes.push(resolve));
  const journal = new RunJournal({ ...store, completed } as unknown as Store, 'b', () => {});
  const released: number[] = [];
  const complete = (seq: number, result = '1') => {
    const written = journal.completed(seq, result, 1);
    journal.whenOthersMayStart(seq, () => released.push(seq));
    return written;
  };
  return { complete, released, writes };
}

it('of more than 2,000 results, the last keep their places until some have been written', async () => {
  const { complete, released, writes } = journalOf({ isRemote: true });
  const written = Array.from({ length: 2003 }, (_, seq) => complete(seq));
  expect(released.length).toBe(2000);
  await expect.poll(() => writes.length).toBe(5);
  writes[0]!();
  await written[0];
  expect(released.slice(2000)).toEqual([2000, 2001, 2002]);
  for (const end of writes.slice(1)) end();
  await Promise.all(written);
  expect(released.length).toBe(2003);
});

it('of more than 16 MB of results, the last keep their places, and one that was written needs no release', async () => {
  const { complete, released, writes } = journalOf({ isRemote: true });
  const written = [complete(1, 'x'.repeat(2 ** 24)), complete(2, 'y')];
  expect(released).toEqual([1]);
  await expect.poll(() => writes.length).toBe(1);
  writes[0]!();
  await Promise.all(written);
  expect(released).toEqual([1]);
});

it('results that are written to a local file keep their places', () => {
  const { complete, released } = journalOf({});
  void complete(1);
  expect(released).toEqual([]);
});
