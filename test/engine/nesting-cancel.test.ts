import { describe, expect, it } from 'vitest';
import type { TaskContext, ToolFunction } from '../../src/index.ts';
import { openEngine, openTimedEngine } from './support/engine.ts';
import { codeOf, thrownBy } from './support/errors.ts';
import { gate, quiet } from './support/gate.ts';
import { HeldTool, obedient } from './support/held-tool.ts';

describe('children', () => {
  it('are cancelled with their parent, down to the last level', async () => {
    const engine = openEngine();
    const running = gate();
    const root = engine.submit({ toolName: 'root' }, async (task) => {
      const child = task.submit({ toolName: 'child', id: 'child' }, async (inner) => {
        const grandchild = inner.submit({ toolName: 'grandchild', id: 'grandchild' }, (innermost) => {
          running.open();
          return obedient(innermost);
        });
        return grandchild.wait();
      });
      task.submit({ toolName: 'waiting', id: 'waiting', dependsOn: [child] }, () => {});
      return child.wait();
    });
    await running.passed;
    root.cancel('not needed');
    for (const id of ['child', 'grandchild', 'waiting']) {
      const reason = expect.stringContaining('its parent');
      expect(await engine.handle(id)!.outcome()).toMatchObject({ status: 'cancelled', reason });
    }
    await engine.drain();
  });

  it('are cancelled however deep they are nested, before the call returns', async () => {
    const { engine } = openTimedEngine({ maxConcurrency: 1 });
    const bottom = gate<TaskContext>();
    const nested =
      (depth: number): ToolFunction =>
      (task) => {
        if (depth > 0) return task.submit({ toolName: 'nested' }, nested(depth - 1)).wait();
        bottom.open(task);
        return obedient(task);
      };
    const root = engine.submit({ toolName: 'nested' }, nested(5000));
    const { signal } = await bottom.passed;
    root.cancel('not needed');
    expect(signal.aborted).toBe(true);
    expect(engine.statistics().counts.cancelled).toBe(5001);
    await engine.drain();
    expect(engine.statistics().abandoned).toBe(0);
  });

  it('are cancelled when their parent fails', async () => {
    const engine = openEngine();
    const child = new HeldTool<void>();
    const failNow = gate();
    const parent = engine.submit({ toolName: 'parent' }, async ({ submit }) => {
      submit({ toolName: 'child', id: 'child' }, child.run);
      await failNow.passed;
      throw new Error('broken');
    });
    const { task } = await child.started();
    failNow.open();
    expect(await parent.outcome()).toMatchObject({ status: 'failed' });
    await quiet();
    expect(task.signal.aborted).toBe(true);
    expect(engine.handle('child')!.status).toBe('cancelled');
  });

  it('are cancelled when the attempt of their parent times out, and its retry has children of its own', async () => {
    const { engine, clock } = openTimedEngine();
    const child = new HeldTool<string>();
    const retry = { maxRetries: 1, delayMs: 0 };
    const parent = engine.submit({ toolName: 'parent', timeoutMs: 1000, retry }, ({ submit, attempt }) =>
      submit({ toolName: 'child', id: `child-${attempt}` }, child.run).wait(),
    );
    const first = await child.started();
    await clock.pass(1000);
    const second = await child.started(2);
    expect(first.task.signal.aborted).toBe(true);
    expect(engine.handle('child-1')!.status).toBe('cancelled');
    second.finish('second');
    expect(await parent.wait()).toBe('second');
  });

  it('cannot be submitted by an attempt that is over', async () => {
    const engine = openEngine();
    const retry = { maxRetries: 1, delayMs: 60_000 };
    let submitLate: (() => unknown) | undefined;
    const parent = engine.submit({ toolName: 'parent', retry }, ({ submit }) => {
      submitLate = () => submit({ toolName: 'child' }, () => {});
      throw new Error('broken');
    });
    while (parent.status !== 'retrying') await quiet();
    expect(codeOf(thrownBy(submitLate!))).toBe('EXECUTION_CANCELLED');
    parent.cancel();
    expect(codeOf(thrownBy(submitLate!))).toBe('EXECUTION_CANCELLED');
    expect(engine.statistics().submitted).toBe(1);
  });

  it('cannot be submitted by an attempt that was told to stop', async () => {
    const { engine, clock } = openTimedEngine();
    const tool = new HeldTool<void>();
    const retry = { maxRetries: 1, delayMs: 0 };
    const parent = engine.submit({ toolName: 'parent', timeoutMs: 5, retry }, tool.run);
    const { task } = await tool.started();
    const refusal = new Promise<unknown>((resolve) => {
      task.onStop(() => resolve(thrownBy(() => task.submit({ toolName: 'child' }, () => {}))));
    });
    await clock.pass(5);
    expect(codeOf(await refusal)).toBe('EXECUTION_CANCELLED');
    expect(engine.statistics().submitted).toBe(1);
    parent.cancel();
    tool.finish();
  });

  it('that were rejected leave the parent as it was', async () => {
    const engine = openEngine({ maxConcurrency: 1 });
    const parent = engine.submit({ toolName: 'parent' }, async ({ submit }) => {
      const error = thrownBy(() => submit({ toolName: '' }, () => {}));
      const child = submit({ toolName: 'child' }, () => 'child');
      return [codeOf(error), await child.wait()];
    });
    expect(await parent.wait()).toEqual(['INVALID_VALUE', 'child']);
  });
});
