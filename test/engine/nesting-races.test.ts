import { describe, expect, it } from 'vitest';
import { openEngine } from './support/engine.ts';
import { gate, quiet } from './support/gate.ts';
import { HeldTool } from './support/held-tool.ts';

describe('a function that waits for its children in several branches', () => {
  it('lends its room again if it waits for another child before it has it back', async () => {
    const engine = openEngine({ maxConcurrency: 1 });
    const child = new HeldTool<string>();
    const other = new HeldTool<void>();
    const second = gate();
    const handle = engine.submit({ toolName: 'parent' }, ({ submit }) => {
      const waitForSecond = async () => {
        await second.passed;
        return submit({ toolName: 'child' }, () => 'second').wait();
      };
      return Promise.all([submit({ toolName: 'child' }, child.run).wait(), waitForSecond()]);
    });
    await child.started();
    engine.submit({ toolName: 'other' }, other.run);
    child.finish('first');
    await other.started();
    await quiet();
    // The room is wanted back now, but `other` has it.
    second.open();
    await quiet();
    other.finish();
    expect(await handle.wait()).toEqual(['first', 'second']);
  });

  it('takes its room once, however many waits end before it has it back', async () => {
    const engine = openEngine({ maxConcurrency: 3 });
    const resources = { exclusive: ['db'] };
    const child = new HeldTool<string>();
    const other = new HeldTool<void>();
    const second = gate();
    const handle = engine.submit({ toolName: 'parent', resources }, ({ submit }) => {
      const waitForSecond = async () => {
        await second.passed;
        return submit({ toolName: 'child' }, () => 'second').wait();
      };
      return Promise.all([submit({ toolName: 'child' }, child.run).wait(), waitForSecond()]);
    });
    await child.started();
    engine.submit({ toolName: 'other', resources }, other.run);
    await other.started();
    child.finish('first');
    await quiet();
    // The lock is wanted back now, but `other` has it; the second child needs none.
    second.open();
    await quiet();
    expect(engine.statistics().counts.completed).toBe(2);
    other.finish();
    expect(await handle.wait()).toEqual(['first', 'second']);
  });

  it('leaves no branch hanging when it ends before it has its room back', async () => {
    const engine = openEngine({ maxConcurrency: 1 });
    const child = new HeldTool<string>();
    const other = new HeldTool<void>();
    const end = gate<string>();
    let waiting: Promise<string> | undefined;
    const handle = engine.submit({ toolName: 'parent' }, ({ submit }) => {
      waiting = submit({ toolName: 'child' }, child.run).wait();
      return Promise.race([waiting, end.passed]);
    });
    await child.started();
    engine.submit({ toolName: 'other' }, other.run);
    child.finish('child');
    await other.started();
    await quiet();
    end.open('enough');
    expect(await handle.wait()).toBe('enough');
    expect(await waiting).toBe('child');
    other.finish();
  });

  it('waits without harm for a child when it has itself been cancelled', async () => {
    const engine = openEngine({ maxConcurrency: 1 });
    const child = new HeldTool<string>();
    const other = new HeldTool<void>();
    const ended = gate<string>();
    const handle = engine.submit({ toolName: 'parent' }, async ({ submit }) => {
      const outcome = await submit({ toolName: 'child' }, child.run).outcome();
      ended.open(outcome.status);
    });
    await child.started();
    engine.submit({ toolName: 'other' }, other.run);
    child.finish('child');
    await other.started();
    await quiet();
    handle.cancel();
    expect(await ended.passed).toBe('completed');
    other.finish();
  });
});
