import { describe, expect, it } from 'vitest';
import { ParallelExecutionEngine } from '../../src/index.ts';
import { openEngine, openTimedEngine } from './support/engine.ts';
import { codeOf, thrownBy } from './support/errors.ts';
import { quiet } from './support/gate.ts';
import { HeldTool, obedient } from './support/held-tool.ts';

/** Whether a promise has settled by the time the engine has nothing more to do. */
async function isOpen(promise: Promise<unknown>): Promise<boolean> {
  let open = true;
  void promise.then(() => {
    open = false;
  });
  await quiet();
  return open;
}

describe('drain()', () => {
  it('returns at once when there is nothing to do', async () => {
    const engine = openEngine();
    expect(await isOpen(engine.drain())).toBe(false);
  });

  it('waits for everything, also for what is submitted meanwhile, and leaves the engine open', async () => {
    const engine = openEngine({ maxConcurrency: 1 });
    const first = new HeldTool<void>();
    const second = new HeldTool<void>();
    engine.submit({ toolName: 'first' }, first.run);
    const draining = engine.drain();
    await first.started();
    engine.submit({ toolName: 'second' }, second.run);
    first.finish();
    await second.started();
    expect(await isOpen(draining)).toBe(true);
    second.finish();
    await draining;
    expect(await engine.submit({ toolName: 'third' }, () => 3).wait()).toBe(3);
  });

  it('waits for a pause before a retry', async () => {
    const engine = openEngine();
    const handle = engine.submit(
      { toolName: 'flaky', retry: { maxRetries: 1, delayMs: 10 } },
      ({ attempt }) => {
        if (attempt === 1) throw new Error('once');
      },
    );
    await engine.drain();
    expect(handle.status).toBe('completed');
  });

  it('waits for a cancelled function that has not ended', async () => {
    const { engine } = openTimedEngine();
    const tool = new HeldTool<void>();
    const handle = engine.submit({ toolName: 'stubborn' }, tool.run);
    await tool.started();
    handle.cancel();
    const draining = engine.drain();
    expect(await isOpen(draining)).toBe(true);
    tool.finish();
    await draining;
  });

  it('can be called by many', async () => {
    const engine = openEngine();
    const tool = new HeldTool<void>();
    engine.submit({ toolName: 'held' }, tool.run);
    const drains = [engine.drain(), engine.drain()];
    await tool.started();
    tool.finish();
    await Promise.all(drains);
  });
});

describe('close()', () => {
  it('ends every pause', async () => {
    const engine = openEngine();
    const handle = engine.submit({ toolName: 'work', group: 'g' }, () => 'done');
    engine.pause('g');
    engine.pause();
    await engine.close();
    expect(await handle.wait()).toBe('done');
  });

  it('waits for everything that was submitted', async () => {
    const engine = openEngine({ maxConcurrency: 1 });
    const tool = new HeldTool<string>();
    const running = engine.submit({ toolName: 'held' }, tool.run);
    const queued = engine.submit({ toolName: 'queued' }, () => 'queued');
    const closing = engine.close();
    await tool.started();
    expect(await isOpen(closing)).toBe(true);
    tool.finish('running');
    await closing;
    expect(await Promise.all([running.wait(), queued.wait()])).toEqual(['running', 'queued']);
  });

  it('cancels everything first if asked to', async () => {
    const engine = openEngine({ maxConcurrency: 1 });
    const running = engine.submit({ toolName: 'obedient' }, obedient);
    const queued = engine.submit({ toolName: 'queued' }, () => {});
    await quiet();
    await engine.close({ cancel: true });
    expect(await running.outcome()).toMatchObject({ status: 'cancelled', reason: 'the engine was closed' });
    expect(queued.status).toBe('cancelled');
  });

  it('refuses further work from then on', async () => {
    const engine = openEngine();
    const tool = new HeldTool<void>();
    engine.submit({ toolName: 'held' }, tool.run);
    await tool.started();
    const closing = engine.close();
    const submit = () => engine.submit({ toolName: 'late' }, () => {});
    expect(codeOf(thrownBy(submit))).toBe('ENGINE_CLOSED');
    tool.finish();
    await closing;
    expect(codeOf(thrownBy(submit))).toBe('ENGINE_CLOSED');
    expect(codeOf(thrownBy(() => engine.submitAll([])))).toBe('ENGINE_CLOSED');
    expect(engine.statistics().submitted).toBe(1);
  });

  it('lets running functions submit children until they have ended', async () => {
    const engine = openEngine({ maxConcurrency: 1 });
    const tool = new HeldTool<void>();
    const handle = engine.submit({ toolName: 'parent' }, async (task) => {
      await tool.run(task);
      return task.submit({ toolName: 'child' }, () => 'child').wait();
    });
    await tool.started();
    const closing = engine.close();
    tool.finish();
    await closing;
    expect(await handle.wait()).toBe('child');
  });

  it('can be called again, to cancel as well', async () => {
    const engine = openEngine();
    const handle = engine.submit({ toolName: 'obedient' }, obedient);
    await quiet();
    const graceful = engine.close();
    expect(await isOpen(graceful)).toBe(true);
    await engine.close({ cancel: true });
    await graceful;
    await engine.close();
    expect(handle.status).toBe('cancelled');
  });

  it('still lets everybody ask and cancel afterwards', async () => {
    const engine = openEngine();
    const handle = engine.submit({ toolName: 'done', id: 'done' }, () => 1);
    await engine.close();
    engine.cancelAll();
    engine.setLimits({ maxConcurrency: 2 });
    await engine.drain();
    expect(engine.handle('done')).toBe(handle);
    expect(engine.cancel('done')).toEqual({ cancelled: false, status: 'completed' });
    expect(engine.statistics().counts.completed).toBe(1);
  });
});

describe('await using', () => {
  it('closes the engine at the end of its block', async () => {
    let closed: ParallelExecutionEngine;
    let isDone = false;
    {
      await using engine = new ParallelExecutionEngine();
      closed = engine;
      engine.submit({ toolName: 'work' }, async () => {
        await quiet();
        isDone = true;
      });
    }
    expect(isDone).toBe(true);
    expect(codeOf(thrownBy(() => closed.submit({ toolName: 'late' }, () => {})))).toBe('ENGINE_CLOSED');
  });
});
