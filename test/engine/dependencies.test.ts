import { describe, expect, it } from 'vitest';
import type { ExecutionHandle } from '../../src/index.ts';
import { openEngine } from './support/engine.ts';
import { codeOf, thrownBy } from './support/errors.ts';
import { HeldTool } from './support/held-tool.ts';

type Dependency = string | ExecutionHandle;

const fails = () => Promise.reject(new Error('broken'));

describe('a dependency', () => {
  it('is named by its id or by its handle, and its outcome is given to the function', async () => {
    const engine = openEngine();
    const a = engine.submit({ toolName: 'a', id: 'a' }, () => 1);
    const b = engine.submit({ toolName: 'b' }, async () => 2);
    const sum = engine.submit({ toolName: 'sum', dependsOn: ['a', b] }, ({ outcomes }) => {
      expect([...outcomes.keys()]).toEqual(['a', b.id]);
      return [...outcomes.values()].map((outcome) =>
        outcome.status === 'completed' ? outcome.value : undefined,
      );
    });
    expect(await sum.wait()).toEqual([1, 2]);
    expect(a.status).toBe('completed');
  });

  it('that is named twice is one dependency', async () => {
    const engine = openEngine();
    const a = engine.submit({ toolName: 'a', id: 'a' }, () => 1);
    const b = engine.submit({ toolName: 'b', dependsOn: ['a', a, 'a'] }, ({ outcomes }) => outcomes.size);
    expect(await b.wait()).toBe(1);
  });

  it('that settled long ago is known by its handle, not by its id', async () => {
    const engine = openEngine({ retainSettled: 0 });
    const a = engine.submit({ toolName: 'a', id: 'a' }, () => 'old');
    await a.wait();
    const byId = () => engine.submit({ toolName: 'b', dependsOn: ['a'] }, () => {});
    expect(codeOf(thrownBy(byId))).toBe('UNKNOWN_DEPENDENCY');
    const byHandle = engine.submit({ toolName: 'b', dependsOn: [a] }, ({ outcomes }) => outcomes.get('a'));
    expect(await byHandle.wait()).toMatchObject({ status: 'completed', value: 'old' });
  });

  it('that failed long ago still skips what depends on it, at once', async () => {
    const engine = openEngine();
    const a = engine.submit({ toolName: 'a' }, fails);
    await a.outcome();
    const b = engine.submit({ toolName: 'b', dependsOn: [a] }, () => {});
    expect(b.status).toBe('skipped');
    expect(await b.outcome()).toMatchObject({ cause: a.id });
  });

  it('of another engine is rejected', () => {
    const engine = openEngine();
    const foreign = openEngine().submit({ toolName: 'a', id: 'a' }, () => {});
    const submit = () => engine.submit({ toolName: 'b', dependsOn: [foreign] }, () => {});
    expect(codeOf(thrownBy(submit))).toBe('INVALID_VALUE');
    expect(engine.statistics().submitted).toBe(0);
  });

  it('may be a child, by the handle that the parent has', async () => {
    const engine = openEngine({ maxConcurrency: 1 });
    const parent = engine.submit({ toolName: 'parent' }, async ({ submit }) => {
      const first = submit({ toolName: 'first', id: 'first' }, () => 1);
      const second = submit({ toolName: 'second', dependsOn: [first] }, ({ outcomes }) =>
        outcomes.get('first'),
      );
      return second.wait();
    });
    expect(await parent.wait()).toMatchObject({ status: 'completed', value: 1 });
  });

  it('of a child may be any that does not wait for its parent, and must be known', async () => {
    const engine = openEngine();
    const handle: ExecutionHandle<string> = engine.submit({ toolName: 'parent' }, async ({ submit }) => {
      const child = (...dependsOn: Dependency[]) => submit({ toolName: 'child', dependsOn }, () => 'done');
      expect(codeOf(thrownBy(() => child('ghost')))).toBe('UNKNOWN_DEPENDENCY');
      expect(codeOf(thrownBy(() => child(handle)))).toBe('INVALID_VALUE');
      // Each of two depends on both before it: the ways through them are more than anyone could go.
      let pair: Dependency[] = [];
      for (let level = 0; level < 50; level++) {
        const dependsOn = pair;
        pair = [1, 2].map(() => engine.submit({ toolName: 'other', dependsOn }, () => {}));
      }
      return child(...pair).wait();
    });
    expect(await handle.wait()).toBe('done');
  });

  it('is waited for even when all room is free', async () => {
    const engine = openEngine();
    const tool = new HeldTool<void>();
    let isDone = false;
    const a = engine.submit({ toolName: 'a' }, tool.run);
    const b = engine.submit({ toolName: 'b', dependsOn: [a] }, () => isDone);
    await tool.started();
    isDone = true;
    tool.finish();
    expect(await b.wait()).toBe(true);
  });
});

describe('what depends on something that failed', () => {
  it('is skipped with everything behind it, naming the root cause', async () => {
    const engine = openEngine();
    const root = engine.submit({ toolName: 'root', id: 'root' }, fails);
    const b = engine.submit({ toolName: 'b', dependsOn: [root] }, () => {});
    const c = engine.submit({ toolName: 'c', dependsOn: [b] }, () => {});
    const unrelated = engine.submit({ toolName: 'd' }, () => 'fine');
    expect(await c.outcome()).toMatchObject({ status: 'skipped', cause: 'root' });
    expect(await unrelated.wait()).toBe('fine');
  });

  it("runs all the same if its policy is 'run', and sees how each ended", async () => {
    const engine = openEngine();
    const good = engine.submit({ toolName: 'good', id: 'good' }, () => 1);
    const bad = engine.submit({ toolName: 'bad', id: 'bad' }, fails);
    const join = engine.submit(
      { toolName: 'join', dependsOn: [good, bad], onDependencyFailure: 'run' },
      ({ outcomes }) => [outcomes.get('good')?.status, outcomes.get('bad')?.status],
    );
    expect(await join.wait()).toEqual(['completed', 'failed']);
  });

  it("runs only then if its policy is 'on-failure'", async () => {
    const engine = openEngine();
    const bad = engine.submit({ toolName: 'bad' }, fails);
    const good = engine.submit({ toolName: 'good' }, () => {});
    const policy = { onDependencyFailure: 'on-failure' } as const;
    const needed = engine.submit({ toolName: 'undo', dependsOn: [bad], ...policy }, () => 'undone');
    const unneeded = engine.submit({ toolName: 'undo', dependsOn: [good], ...policy }, () => 'undone');
    expect(await needed.wait()).toBe('undone');
    expect(await unneeded.outcome()).toMatchObject({ status: 'skipped', cause: undefined });
  });

  it('can still be looked at by a function after it was told to stop', async () => {
    const engine = openEngine();
    const a = engine.submit({ toolName: 'a', id: 'a' }, () => 1);
    const tool = new HeldTool<void>();
    const { handles } = engine.submitAll([
      { toolName: 'single', dependsOn: [a], run: tool.run },
      { toolName: 'first', id: 'first', run: () => 2 },
      { toolName: 'in a group', dependsOn: ['first'], run: tool.run },
    ]);
    const tasks = [(await tool.started(1)).task, (await tool.started(2)).task];
    for (const handle of handles) handle.cancel();
    const seen = tasks.map(({ outcomes }) => [...outcomes.values()]);
    expect(seen).toMatchObject([
      [{ id: 'a', status: 'completed', value: 1 }],
      [{ id: 'first', status: 'completed', value: 2 }],
    ]);
  });

  it('sees no outcomes where it depends on nothing', async () => {
    const engine = openEngine();
    expect(await engine.submit({ toolName: 'alone' }, ({ outcomes }) => outcomes.size).wait()).toBe(0);
  });

  it('sees the same outcomes in every attempt', async () => {
    const engine = openEngine();
    const bad = engine.submit({ toolName: 'bad', id: 'bad' }, fails);
    const context = { toolName: 'join', dependsOn: [bad], onDependencyFailure: 'run' } as const;
    const join = engine.submit(
      { ...context, retry: { maxRetries: 1, delayMs: 1 } },
      ({ outcomes, attempt }) => {
        if (attempt === 1) throw new Error('once');
        return outcomes.get('bad')?.status;
      },
    );
    expect(await join.wait()).toBe('failed');
  });
});
