import { describe, expect, it } from 'vitest';
import { openEngine } from './support/engine.ts';
import { rejectionOf } from './support/errors.ts';
import { HeldTool } from './support/held-tool.ts';

describe('onStop', () => {
  it('calls back once with the reason of the signal when the attempt is stopped, or at once if it was', async () => {
    const engine = openEngine();
    const tool = new HeldTool();
    const handle = engine.submit({ toolName: 'held' }, tool.run);
    const { task } = await tool.started();
    const reasons: unknown[] = [];
    const { onStop } = task;
    onStop((reason) => reasons.push(reason));
    onStop((reason) => reasons.push(reason));
    expect(reasons).toEqual([]);
    const rejection = rejectionOf(handle.wait());
    handle.cancel('enough');
    expect(await rejection).toMatchObject({ code: 'EXECUTION_CANCELLED' });
    expect(reasons).toEqual([task.signal.reason, task.signal.reason]);
    onStop((reason) => reasons.push(reason));
    expect(reasons).toHaveLength(3);
    tool.finish(1);
  });

  it('does not call back for an attempt that ends by itself', async () => {
    const engine = openEngine();
    let calls = 0;
    const handle = engine.submit({ toolName: 'quick' }, ({ onStop }) => onStop(() => calls++));
    await handle.wait();
    handle.cancel();
    expect(calls).toBe(0);
  });
});
