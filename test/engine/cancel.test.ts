import { describe, expect, it } from 'vitest';
import { openEngine, openTimedEngine } from './support/engine.ts';
import { codeOf, thrownBy } from './support/errors.ts';
import { quiet } from './support/gate.ts';
import { HeldTool, obedient } from './support/held-tool.ts';

describe('cancelling an execution', () => {
  it('that is queued keeps it from ever being called', async () => {
    const engine = openEngine({ maxConcurrency: 1 });
    const first = new HeldTool<void>();
    const second = new HeldTool<void>();
    engine.submit({ toolName: 'first' }, first.run);
    const queued = engine.submit({ toolName: 'second' }, second.run);
    await first.started();
    expect(queued.cancel('too late')).toEqual({ cancelled: true, status: 'cancelled' });
    first.finish();
    await engine.drain();
    expect(second.calls).toBe(0);
    expect(await queued.outcome()).toMatchObject({ status: 'cancelled', reason: 'too late', attempts: 0 });
  });

  it('that is about to be called gives its room back at once', async () => {
    const { engine } = openTimedEngine();
    const second = new HeldTool<void>();
    engine.submit({ toolName: 'first' }, () => void handle.cancel());
    const handle = engine.submit({ toolName: 'second' }, second.run);
    await engine.drain();
    expect(second.calls).toBe(0);
    expect(await handle.outcome()).toMatchObject({ status: 'cancelled', attempts: 1 });
  });

  it('that is pending skips what depends on it, and leaves its dependency alone', async () => {
    const engine = openEngine();
    const tool = new HeldTool<void>();
    const first = engine.submit({ toolName: 'first' }, tool.run);
    const pending = engine.submit({ toolName: 'second', dependsOn: [first] }, () => {});
    const third = engine.submit({ toolName: 'third', dependsOn: [pending] }, () => {});
    expect(pending.cancel()).toEqual({ cancelled: true, status: 'cancelled' });
    expect(await third.outcome()).toMatchObject({ status: 'skipped', cause: pending.id });
    await tool.started();
    expect(first.status).toBe('running');
    tool.finish();
    await first.wait();
  });

  it('that is running is seen by its function in the same turn', async () => {
    const engine = openEngine();
    const tool = new HeldTool<void>();
    const handle = engine.submit({ toolName: 'held' }, tool.run);
    const { task } = await tool.started();
    const { signal } = task;
    expect(signal.aborted).toBe(false);
    expect(handle.cancel('changed my mind')).toEqual({ cancelled: true, status: 'cancelled' });
    expect(signal.aborted).toBe(true);
    expect(codeOf(signal.reason)).toBe('EXECUTION_CANCELLED');
    expect(signal.reason.message).toContain('changed my mind');
  });

  it('shows an aborted signal to a function that asks for its signal only afterwards', async () => {
    const engine = openEngine();
    const tool = new HeldTool<void>();
    const handle = engine.submit({ toolName: 'held' }, tool.run);
    const { task } = await tool.started();
    handle.cancel('over');
    expect(task.signal.aborted).toBe(true);
    expect(task.signal.reason.message).toContain('over');
    expect(task.signal).toBe(task.signal);
  });

  it('that waits for a retry ends it', async () => {
    const engine = openEngine();
    const tool = new HeldTool();
    const handle = engine.submit({ toolName: 'held', retry: { maxRetries: 1, delayMs: 60_000 } }, tool.run);
    await tool.started();
    tool.fail(new Error('first'));
    await quiet();
    expect(handle.status).toBe('retrying');
    expect(handle.cancel()).toEqual({ cancelled: true, status: 'cancelled' });
    await engine.drain();
    expect(tool.calls).toBe(1);
  });

  it('that has settled answers so and throws nothing', async () => {
    const engine = openEngine();
    const done = engine.submit({ toolName: 'done', id: 'done' }, () => {});
    const failed = engine.submit({ toolName: 'failed' }, () => Promise.reject(new Error('broken')));
    const cancelled = engine.submit({ toolName: 'cancelled' }, () => {});
    cancelled.cancel('first');
    await engine.drain();
    expect(done.cancel()).toEqual({ cancelled: false, status: 'completed' });
    expect(failed.cancel()).toEqual({ cancelled: false, status: 'failed' });
    expect(cancelled.cancel('second')).toEqual({ cancelled: false, status: 'cancelled' });
    expect(engine.cancel('done')).toEqual({ cancelled: false, status: 'completed' });
    expect(await cancelled.outcome()).toMatchObject({ reason: 'first' });
  });

  it('by an id that nobody has is an error', () => {
    const engine = openEngine();
    expect(codeOf(thrownBy(() => engine.cancel('nobody')))).toBe('UNKNOWN_EXECUTION');
  });

  it('keeps its room until the function has ended', async () => {
    const { engine } = openTimedEngine({ maxConcurrency: 1 });
    const tool = new HeldTool<void>();
    const next = new HeldTool<void>();
    const handle = engine.submit({ toolName: 'held' }, tool.run);
    engine.submit({ toolName: 'next' }, next.run);
    await tool.started();
    handle.cancel();
    await quiet();
    expect(next.calls).toBe(0);
    tool.finish();
    await next.started();
    next.finish();
  });

  it('from a listener on the signal of another works', async () => {
    const engine = openEngine();
    const first = new HeldTool<void>();
    const second = new HeldTool<void>();
    const a = engine.submit({ toolName: 'a' }, first.run);
    const b = engine.submit({ toolName: 'b' }, second.run);
    const { task } = await first.started();
    const other = await second.started();
    task.signal.addEventListener('abort', () => b.cancel('with the other'));
    a.cancel();
    expect([b.status, other.task.signal.aborted]).toEqual(['cancelled', true]);
  });

  it('gives a function that ends with the reason of its signal no second ending', async () => {
    const engine = openEngine();
    const handle = engine.submit({ toolName: 'obedient' }, obedient);
    await quiet();
    handle.cancel('stop');
    await engine.drain();
    expect(await handle.outcome()).toMatchObject({ status: 'cancelled', reason: 'stop' });
    expect(engine.statistics().counts).toMatchObject({ cancelled: 1, failed: 0, running: 0 });
  });
});
