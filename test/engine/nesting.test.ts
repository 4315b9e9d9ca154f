import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { TaskContext } from '../../src/index.ts';
import { openEngine } from './support/engine.ts';
import { quiet } from './support/gate.ts';
import { HeldTool } from './support/held-tool.ts';
import { readUpdates } from './support/updates.ts';

describe('a function that submits children and waits for them', () => {
  it('completes even where only one may run at a time, three levels deep', async () => {
    const engine = openEngine({ maxConcurrency: 1 });
    const nest = async (task: TaskContext, depth: number): Promise<number> => {
      if (depth === 0) return 1;
      const children = [1, 2].map(() =>
        task.submit({ toolName: `level-${depth}` }, (child) => nest(child, depth - 1)),
      );
      let sum = 1;
      for (const child of children) sum += await child.wait();
      return sum;
    };
    const handle = engine.submit({ toolName: 'root' }, (task) => nest(task, 3));
    expect(await handle.wait()).toBe(15);
    expect(engine.statistics().counts.completed).toBe(15);
  });

  it('may lend its room while it waits for what others submitted', async () => {
    const engine = openEngine({ maxConcurrency: 1 });
    const handle = engine.submit({ toolName: 'parent' }, async ({ lendWhile }) => {
      const other = engine.submit({ toolName: 'other' }, () => 7);
      return lendWhile(other.wait());
    });
    expect(await handle.wait()).toBe(7);
  });

  it('may wait for all of them at once', async () => {
    const engine = openEngine({ maxConcurrency: 1 });
    const handle = engine.submit({ toolName: 'parent' }, async ({ submit }) => {
      const children = [1, 2, 3, 4].map((n) => submit({ toolName: 'child' }, async () => n * n));
      return Promise.all(children.map((child) => child.wait()));
    });
    expect(await handle.wait()).toEqual([1, 4, 9, 16]);
  });

  it('may wait with outcome(), and go on after a child that failed', async () => {
    const engine = openEngine({ maxConcurrency: 1 });
    const handle = engine.submit({ toolName: 'parent' }, async ({ submit }) => {
      const failed = await submit({ toolName: 'child' }, () => Promise.reject(new Error('broken'))).outcome();
      const caught = await submit({ toolName: 'child' }, () => Promise.reject(new Error('thrown')))
        .wait()
        .catch((error: Error) => error.message);
      return [failed.status, caught];
    });
    expect(await handle.wait()).toEqual(['failed', 'thrown']);
  });

  it('stays within the limit while it resumes', async () => {
    const engine = openEngine({ maxConcurrency: 2 });
    let inside = 0;
    let most = 0;
    const enter = () => {
      inside++;
      most = Math.max(most, inside);
    };
    const parent = async ({ submit }: TaskContext) => {
      enter();
      const children = [1, 2, 3].map(() =>
        submit({ toolName: 'child' }, async () => {
          enter();
          await quiet();
          inside--;
        }),
      );
      await quiet();
      inside--;
      await Promise.all(children.map((child) => child.wait()));
      enter();
      await quiet();
      inside--;
    };
    const group = engine.submitAll(Array.from({ length: 10 }, () => ({ toolName: 'parent', run: parent })));
    expect((await group.outcome()).succeeded).toBe(true);
    expect(most).toBe(2);
  });

  it('goes on only when it has its room again', async () => {
    const engine = openEngine({ maxConcurrency: 1 });
    const child = new HeldTool<void>();
    const other = new HeldTool<void>();
    let isResumed = false;
    const handle = engine.submit({ toolName: 'parent' }, async ({ submit }) => {
      await submit({ toolName: 'child' }, child.run).wait();
      isResumed = true;
    });
    await child.started();
    engine.submit({ toolName: 'other', priority: 'critical' }, other.run);
    const third = engine.submit({ toolName: 'third', priority: 'critical' }, () => isResumed);
    child.finish();
    await other.started();
    await quiet();
    expect(isResumed).toBe(false);
    other.finish();
    await handle.wait();
    // The parent was there first: it has precedence over what has not started yet.
    expect(await third.wait()).toBe(true);
  });

  it('has handles of them that tell and do what any handle does', async () => {
    const engine = openEngine();
    const tool = new HeldTool<void>();
    const parent = engine.submit({ toolName: 'parent' }, async ({ submit }) => {
      const child = submit({ toolName: 'child', id: 'c' }, tool.run);
      const reading = readUpdates(child.progress());
      await tool.started();
      const before = [child.id, child.toolName, child.status];
      const printed = inspect(child) === inspect(engine.handle('c'));
      return [before, printed, child.cancel('enough'), child.status, await reading];
    });
    expect(await parent.wait()).toMatchObject([
      ['c', 'child', 'running'],
      true,
      { cancelled: true, status: 'cancelled' },
      'cancelled',
      [{ type: 'started' }, { type: 'cancelled', reason: 'enough' }],
    ]);
    tool.finish();
  });

  it('holds nothing of the engine back for children that it does not wait for', async () => {
    const engine = openEngine({ maxConcurrency: 1 });
    const child = new HeldTool<string>();
    const handle = engine.submit({ toolName: 'parent' }, ({ submit }) => {
      submit({ toolName: 'child', id: 'child' }, child.run);
      return 'parent';
    });
    expect(await handle.wait()).toBe('parent');
    await child.started();
    child.finish('outlived');
    expect(await engine.handle('child')!.wait()).toBe('outlived');
  });
});

it('a function that submits its successor as a child is not kept by it', async () => {
  const engine = openEngine({ retainSettled: 10 });
  const poll =
    (left: number): Parameters<typeof engine.submit>[1] =>
    ({ submit }) => {
      if (left > 0) submit({ toolName: 'poll', id: `poll-${left}` }, poll(left - 1));
    };
  await engine.submit({ toolName: 'poll' }, poll(3)).wait();
  await engine.drain();
  // Not seen from outside but as memory: a child that has settled must not lead to its parent any more.
  const last = engine.handle('poll-1') as unknown as { extras: { parent: unknown } };
  expect(last.extras.parent).toBeUndefined();
});

it('a child without a priority of its own is as urgent as the function that submits it', async () => {
  const engine = openEngine({ maxConcurrency: 1 });
  const order: string[] = [];
  const parent = engine.submit({ toolName: 'parent', priority: 'critical' }, ({ submit }) => {
    for (const id of ['a', 'b'])
      engine.submit({ toolName: 'other', id, priority: 'high' }, () => void order.push(id));
    return submit({ toolName: 'child', id: 'child' }, () => void order.push('child')).wait();
  });
  await parent.wait();
  await engine.drain();
  expect(order).toEqual(['child', 'a', 'b']);
});
