import { describe, expect, it } from 'vitest';
import { openEngine, openTimedEngine } from './support/engine.ts';
import { quiet } from './support/gate.ts';
import { HeldTool, obedient } from './support/held-tool.ts';
import { readUpdates, typesOf } from './support/updates.ts';

const LONG_MS = 60_000;

describe('a stopped attempt', () => {
  it('that ends late with a value changes nothing', async () => {
    const { engine, clock } = openTimedEngine();
    const tool = new HeldTool<string>();
    const handle = engine.submit({ toolName: 'slow', timeoutMs: 200 }, tool.run);
    const { finish } = await tool.started();
    await clock.pass(200);
    expect(await handle.outcome()).toMatchObject({ status: 'failed', reason: 'timeout' });
    finish('late');
    await engine.drain();
    expect(await handle.outcome()).toMatchObject({ status: 'failed', reason: 'timeout' });
    expect(engine.statistics().counts).toMatchObject({ completed: 0, failed: 1 });
  });

  it('that ends late with an error changes nothing', async () => {
    const engine = openEngine({ graceMs: LONG_MS });
    const tool = new HeldTool<string>();
    const handle = engine.submit({ toolName: 'held' }, tool.run);
    const { fail } = await tool.started();
    handle.cancel('no more');
    fail(new Error('late'));
    await engine.drain();
    expect(await handle.outcome()).toMatchObject({ status: 'cancelled', reason: 'no more' });
  });

  it('cannot report, nor submit children', async () => {
    const engine = openEngine({ graceMs: LONG_MS });
    const tool = new HeldTool<void>();
    const handle = engine.submit({ toolName: 'held' }, tool.run);
    const { task, finish } = await tool.started();
    const { report, submit } = task;
    handle.cancel();
    const lastEventId = engine.progress.lastEventId;
    report(0.5, 'still here');
    expect(engine.progress.lastEventId).toBe(lastEventId);
    expect(() => submit({ toolName: 'child' }, () => {})).toThrow(/can no longer submit children/);
    expect(engine.statistics().submitted).toBe(1);
    finish();
  });
});

describe('a retry after a timeout', () => {
  const retry = { maxRetries: 1, delayMs: 0 };

  it('waits until the old attempt is gone', async () => {
    const { engine, clock } = openTimedEngine({ graceMs: LONG_MS });
    const tool = new HeldTool<string>();
    const handle = engine.submit({ toolName: 'slow', timeoutMs: 1000, retry }, tool.run);
    const first = await tool.started();
    const { signal } = first.task;
    await clock.pass(999);
    expect([handle.status, signal.aborted]).toEqual(['running', false]);
    await clock.pass(1);
    expect([handle.status, signal.aborted, tool.calls]).toEqual(['retrying', true, 1]);
    first.finish('late');
    const second = await tool.started(2);
    expect(second.task.attempt).toBe(2);
    expect(second.task.signal.aborted).toBe(false);
    second.finish('second');
    expect(await handle.wait()).toBe('second');
    expect(engine.statistics()).toMatchObject({ retries: 1, abandoned: 0 });
  });

  it('goes ahead without the old attempt when its grace period is over', async () => {
    const { engine, clock } = openTimedEngine({ graceMs: 10 });
    const tool = new HeldTool<string>();
    const handle = engine.submit({ toolName: 'slow', timeoutMs: 1000, retry }, tool.run);
    const reading = readUpdates(handle.progress());
    const first = await tool.started();
    await clock.pass(1009);
    expect([handle.status, tool.calls]).toEqual(['retrying', 1]);
    await clock.pass(1);
    const second = await tool.started(2);
    first.finish('late');
    await quiet();
    expect(handle.status).toBe('running');
    second.finish('second');
    expect(await handle.outcome()).toMatchObject({ status: 'completed', value: 'second', attempts: 2 });
    expect(typesOf(await reading)).toEqual(['started', 'retrying', 'abandoned', 'started', 'completed']);
    expect(engine.statistics().abandoned).toBe(1);
  });

  it('lets the old attempt neither report for the new one nor spoil its signal', async () => {
    const { engine, clock } = openTimedEngine({ graceMs: 10 });
    const tool = new HeldTool<string>();
    const handle = engine.submit({ toolName: 'slow', timeoutMs: 1000, retry }, tool.run);
    const first = await tool.started();
    await clock.pass(1010);
    const second = await tool.started(2);
    const reading = readUpdates(handle.progress());
    first.task.report(0.9);
    first.fail(new Error('late'));
    await quiet();
    expect(second.task.signal.aborted).toBe(false);
    second.finish('second');
    expect(await handle.wait()).toBe('second');
    expect(typesOf(await reading)).not.toContain('progress');
  });
});

describe('a function that ignores its signal', () => {
  it('keeps its room for the grace period, then it is abandoned and the room is free', async () => {
    const { engine, clock } = openTimedEngine({ maxConcurrency: 1, graceMs: 30 });
    const stubborn = new HeldTool<void>();
    const next = new HeldTool<void>();
    const watching = readUpdates(engine.progress.subscribe(), 'abandoned');
    const handle = engine.submit({ toolName: 'stubborn', resources: { exclusive: ['db'] } }, stubborn.run);
    engine.submit({ toolName: 'next', resources: { exclusive: ['db'] } }, next.run);
    await stubborn.started();
    handle.cancel();
    await clock.pass(29);
    expect(next.calls).toBe(0);
    await clock.pass(1);
    expect(next.calls).toBe(1);
    expect(typesOf(await watching)).toEqual(['started', 'cancelled', 'abandoned']);
    expect(engine.statistics().abandoned).toBe(1);
    // That it ends after all gives back nothing a second time.
    stubborn.finish();
    await quiet();
    expect(engine.statistics().utilization.concurrency.used).toBe(1);
    next.finish();
  });

  it('is reported as abandoned even when it had lent its room', async () => {
    const { engine, clock } = openTimedEngine({ graceMs: 10 });
    const stubborn = new HeldTool<void>();
    const watching = readUpdates(engine.progress.subscribe(), 'abandoned');
    const handle = engine.submit({ toolName: 'parent' }, async (task) => {
      await task.submit({ toolName: 'child' }, obedient).outcome();
      await stubborn.run(task);
    });
    while (engine.statistics().counts.running < 2) await quiet();
    handle.cancel();
    await stubborn.started();
    await clock.pass(10);
    expect(engine.statistics().abandoned).toBe(1);
    expect((await watching).at(-1)).toMatchObject({ type: 'abandoned', executionId: handle.id });
    stubborn.finish();
  });
});
