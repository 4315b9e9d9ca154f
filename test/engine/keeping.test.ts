import { expect, it } from 'vitest';
import { openEngine } from './support/engine.ts';
import { gate, quiet } from './support/gate.ts';
import { HeldTool } from './support/held-tool.ts';

it('a function that keeps its result is not stopped, and what depends on it runs', async () => {
  const engine = openEngine();
  const kept = gate<void>();
  const written = gate<void>();
  const stops: unknown[] = [];
  const first = engine.submit({ id: 'first', toolName: 'save' }, async ({ keeping, onStop }) => {
    onStop((reason) => stops.push(reason));
    keeping();
    kept.open();
    await written.passed;
    return 1;
  });
  const next = engine.submit({ toolName: 'next', dependsOn: ['first'] }, () => 2);
  await kept.passed;
  expect(first.cancel()).toEqual({ cancelled: false, status: 'running' });
  written.open();
  expect(await Promise.all([first.wait(), next.wait()])).toEqual([1, 2]);
  expect(stops).toEqual([]);
});

it('a function that was told to stop has nothing to keep', async () => {
  const engine = openEngine();
  const started = gate<void>();
  const handle = engine.submit({ toolName: 'save' }, async ({ keeping, onStop }) => {
    started.open();
    await new Promise<void>((resolve) => onStop(() => resolve()));
    keeping();
  });
  await started.passed;
  expect(handle.cancel('late')).toEqual({ cancelled: true, status: 'cancelled' });
  expect(await handle.outcome()).toMatchObject({ status: 'cancelled', reason: 'late' });
  await engine.close();
});

it('an attempt that is over keeps nothing of the one that came after it', async () => {
  const engine = openEngine();
  const tool = new HeldTool<void>();
  const handle = engine.submit({ toolName: 'save', retry: { maxRetries: 1, delayMs: 0 } }, tool.run);
  const first = await tool.started();
  first.fail(new Error('once'));
  await tool.started(2);
  first.task.keeping();
  expect(handle.cancel()).toEqual({ cancelled: true, status: 'cancelled' });
  tool.finish();
});

it('a function that keeps its result is waited for by a close that cancels, and not tried again', async () => {
  const engine = openEngine();
  const tool = new HeldTool<void>();
  const handle = engine.submit({ toolName: 'save', retry: { maxRetries: 1, delayMs: 0 } }, tool.run);
  const { task, fail } = await tool.started();
  task.keeping();
  const closed = engine.close({ cancel: true });
  await quiet();
  expect([handle.status, task.signal.aborted]).toEqual(['running', false]);
  fail(new Error('the disk is full'));
  await closed;
  expect(await handle.outcome()).toMatchObject({ status: 'failed', attempts: 1 });
});
