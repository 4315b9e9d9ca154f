import { expect, onTestFinished, test } from 'vitest';
import { StoreWatch } from '../../src/store/store-watch.ts';
import { openRig } from '../batch/support/rig.ts';

test('what others did while nobody looked is reported to whoever looks again', async () => {
  const here = await openRig();
  const there = await openRig([], undefined, here.file);
  await there.ask('add', { batch: 'changes', function: 'echo' });
  await there.ask('add', { batch: 'goes', function: 'echo' });
  await there.ask('add', { batch: 'stays', function: 'echo' });
  const told: string[] = [];
  const watch = new StoreWatch(here.store);
  watch.listen({
    changed: (batch) => told.push(`${batch} changed`),
    gone: (batch) => told.push(`${batch} is gone`),
  });
  const stop = watch.start();
  await watch.ready();
  stop();
  expect(told).toEqual([]);
  await there.ask('start', { batch: 'changes', wait: true });
  await there.ask('clear', { batch: 'goes' });
  onTestFinished(watch.start());
  await watch.ready();
  expect(told).toEqual(['changes changed', 'goes is gone']);
});
