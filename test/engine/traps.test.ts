import { describe, expect, it } from 'vitest';
import { ParallelExecutionEngine } from '../../src/index.ts';

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
        /cannot depend on it/,
      );
      const child = submit({ toolName: 'child' }, (task) => {
        expect(() => task.submit({ toolName: 'grandchild', dependsOn: ['parent'] }, () => 1)).toThrow(
          /cannot depend on it/,
        );
        return 'fine';
      });
      return child.wait();
    });
    expect(await parent.wait()).toBe('fine');
  });

  it('is refused when an item of submitAll names another group', () => {
    const engine = new ParallelExecutionEngine();
    const items = [{ toolName: 'a', group: 'other', run: () => 1 }];
    expect(() => engine.submitAll(items, { name: 'mine' })).toThrow(/cannot be of group "other" too/);
    expect(engine.statistics().submitted).toBe(0);
  });
});
