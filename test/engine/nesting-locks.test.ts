import { describe, expect, it } from 'vitest';
import type { TaskContext } from '../../src/index.ts';
import { openEngine } from './support/engine.ts';
import { gate, quiet } from './support/gate.ts';
import { HeldTool } from './support/held-tool.ts';

const lock = { exclusive: ['db'] };

describe('the locks of a function that waits for its children', () => {
  it('are lent to them', async () => {
    const engine = openEngine();
    const handle = engine.submit({ toolName: 'parent', resources: lock }, async ({ submit }) => {
      const children = [1, 2, 3].map((n) => submit({ toolName: 'child', resources: lock }, async () => n));
      return Promise.all(children.map((child) => child.wait()));
    });
    expect(await handle.wait()).toEqual([1, 2, 3]);
  });

  it('are taken again before it goes on', async () => {
    const engine = openEngine();
    const other = new HeldTool<void>();
    const resumed = gate();
    const end = gate();
    const handle = engine.submit({ toolName: 'parent', resources: lock }, async ({ submit }) => {
      await submit({ toolName: 'child', resources: lock }, () => {}).wait();
      resumed.open();
      await end.passed;
    });
    await resumed.passed;
    engine.submit({ toolName: 'other', resources: lock }, other.run);
    await quiet();
    expect(other.calls).toBe(0);
    end.open();
    await handle.wait();
    await other.started();
    other.finish();
  });

  it('are waited for when another has them meanwhile', async () => {
    const engine = openEngine();
    const child = new HeldTool<void>();
    const other = new HeldTool<void>();
    let isResumed = false;
    const handle = engine.submit({ toolName: 'parent', resources: lock }, async ({ submit }) => {
      await submit({ toolName: 'child' }, child.run).wait();
      isResumed = true;
    });
    await child.started();
    engine.submit({ toolName: 'other', resources: lock }, other.run);
    await other.started();
    child.finish();
    await quiet();
    expect(isResumed).toBe(false);
    other.finish();
    await handle.wait();
    expect(isResumed).toBe(true);
  });

  it('keep nobody else from going on while it waits for them', async () => {
    const engine = openEngine();
    const child = new HeldTool<void>();
    const holder = new HeldTool<void>();
    const order: string[] = [];
    const waitForChild = async (task: TaskContext) => {
      await task.submit({ toolName: 'child' }, child.run).wait();
      order.push(task.id);
    };
    const locked = engine.submit({ toolName: 'parent', id: 'locked', resources: lock }, waitForChild);
    const firstChild = await child.started();
    const free = engine.submit({ toolName: 'parent', id: 'free' }, waitForChild);
    const secondChild = await child.started(2);
    engine.submit({ toolName: 'holder', resources: lock }, holder.run);
    await holder.started();
    firstChild.finish();
    await quiet();
    secondChild.finish();
    await free.wait();
    holder.finish();
    await locked.wait();
    expect(order).toEqual(['free', 'locked']);
  });

  it('stay with it when somebody else waits for its child', async () => {
    const engine = openEngine();
    const child = new HeldTool<void>();
    const end = gate();
    const other = new HeldTool<void>();
    const parent = engine.submit({ toolName: 'parent', resources: lock }, ({ submit }) => {
      submit({ toolName: 'child', id: 'child' }, child.run);
      return end.passed;
    });
    await child.started();
    const watching = engine.handle('child')!.wait();
    engine.submit({ toolName: 'other', resources: lock }, other.run);
    await quiet();
    expect(other.calls).toBe(0);
    end.open();
    await parent.wait();
    child.finish();
    await watching;
    await other.started();
    other.finish();
  });
});
