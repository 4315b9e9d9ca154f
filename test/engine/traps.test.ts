import { describe, expect, it } from 'vitest';
import { ParallelExecutionEngine } from '../../src/index.ts';
import { gate } from './support/gate.ts';

describe('what could wait for ever', () => {
  it('is let go when a paused engine is closed', async () => {
    const engine = new ParallelExecutionEngine();
    engine.pause();
    const handle = engine.submit({ toolName: 'late' }, () => 'done');
    await engine.close();
    expect(handle.status).toBe('completed');
  });

  it('is let go when an engine with a paused group is closed', async () => {
    const engine = new ParallelExecutionEngine();
    const group = engine.submitAll([{ toolName: 'late', run: () => 'done' }]);
    group.pause();
    await engine.close();
    expect((await group.outcome()).succeeded).toBe(true);
  });

  it('is refused when a child depends on the function that submits it, or on one above that', async () => {
    await using engine = new ParallelExecutionEngine();
    const parent = engine.submit({ toolName: 'parent', id: 'parent' }, async ({ submit }) => {
      expect(() => submit({ toolName: 'child', dependsOn: ['parent'] }, () => 1)).toThrow(
        expect.objectContaining({ code: 'INVALID_VALUE' }),
      );
      const child = submit({ toolName: 'child' }, (task) => {
        expect(() => task.submit({ toolName: 'grandchild', dependsOn: ['parent'] }, () => 1)).toThrow(
          expect.objectContaining({ code: 'INVALID_VALUE' }),
        );
        return 'fine';
      });
      return child.wait();
    });
    expect(await parent.wait()).toBe('fine');
  });

  it('is refused when a child depends on its parent through others, or by the handle that a parent has', async () => {
    await using engine = new ParallelExecutionEngine();
    const entry = gate<void>();
    const parent = engine.submit({ toolName: 'parent', id: 'parent' }, async ({ submit }) => {
      await entry.passed;
      expect(() => submit({ toolName: 'child', dependsOn: ['last'] }, () => 1)).toThrow(
        expect.objectContaining({ code: 'INVALID_VALUE' }),
      );
      const child = submit({ toolName: 'child' }, (task) => {
        expect(() => task.submit({ toolName: 'grandchild', dependsOn: [child] }, () => 1)).toThrow(
          expect.objectContaining({ code: 'INVALID_VALUE' }),
        );
      });
      await child.wait();
    });
    engine.submit({ toolName: 'after', id: 'after', dependsOn: ['parent'] }, () => {});
    const last = engine.submit({ toolName: 'last', id: 'last', dependsOn: ['after'] }, () => 'last');
    entry.open();
    await parent.wait();
    expect(await last.wait()).toBe('last');
  });

  it('is not refused when the function above has completed', async () => {
    await using engine = new ParallelExecutionEngine();
    const entry = gate<void>();
    const grandchild = gate<string>();
    const parent = engine.submit({ toolName: 'parent', id: 'parent' }, ({ submit }) => {
      submit({ toolName: 'child' }, async (task) => {
        await entry.passed;
        grandchild.open(
          await task.submit({ toolName: 'grandchild', dependsOn: ['parent'] }, () => 'fine').wait(),
        );
      });
    });
    await parent.wait();
    entry.open();
    expect(await grandchild.passed).toBe('fine');
  });

  it('is refused when somebody pauses an engine that is closing, or a group of it', async () => {
    const engine = new ParallelExecutionEngine({ maxConcurrency: 1 });
    const entry = gate<void>();
    const group = engine.submitAll([
      { toolName: 'held', run: () => entry.passed },
      { toolName: 'next', run: () => {} },
    ]);
    const closed = engine.close();
    expect(() => engine.pause()).toThrow(/paused work would never finish/);
    expect(() => group.pause()).toThrow(/paused work would never finish/);
    entry.open();
    await closed;
  });

  it('is refused when an item of submitAll names another group', () => {
    const engine = new ParallelExecutionEngine();
    const items = [{ toolName: 'a', group: 'other', run: () => 1 }];
    expect(() => engine.submitAll(items, { name: 'mine' })).toThrow(/cannot also be in group "other"/);
    expect(engine.statistics().submitted).toBe(0);
  });
});
