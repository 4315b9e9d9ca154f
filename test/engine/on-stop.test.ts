import { describe, expect, it } from 'vitest';
import { openEngine, openTimedEngine } from './support/engine.ts';
import { rejectionOf } from './support/errors.ts';
import { gate } from './support/gate.ts';
import { HeldTool, obedient } from './support/held-tool.ts';

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

  it('stops the others, and the children, when one of them throws, which the process is told', async () => {
    const { engine, clock } = openTimedEngine();
    const thrown = new Promise((resolve) => {
      const others = process.listeners('uncaughtException');
      process.removeAllListeners('uncaughtException');
      process.once('uncaughtException', (error) => {
        for (const other of others) process.on('uncaughtException', other);
        resolve(error);
      });
    });
    const started = gate<void>();
    let children = 0;
    const first = engine.submit({ toolName: 'first' }, ({ onStop, submit }) => {
      onStop(() => {
        throw new Error('in onStop');
      });
      void submit({ toolName: 'child' }, obedient)
        .outcome()
        .then(({ status }) => {
          if (status === 'cancelled') children++;
        });
      return new Promise(() => {});
    });
    const second = engine.submit({ toolName: 'second' }, (task) => {
      started.open();
      return obedient(task);
    });
    await started.passed;
    engine.cancelAll('all');
    expect((await Promise.all([first.outcome(), second.outcome()])).map(({ status }) => status)).toEqual([
      'cancelled',
      'cancelled',
    ]);
    expect(await thrown).toHaveProperty('message', 'in onStop');
    await clock.pass(5000);
    expect([children, engine.statistics().abandoned]).toEqual([1, 1]);
  });

  it('and the signal tell of the stop however often they were asked for', async () => {
    const engine = openEngine();
    const tool = new HeldTool<void>();
    const handle = engine.submit({ toolName: 'held' }, tool.run);
    const { task } = await tool.started();
    const signals = [task.signal, task.signal];
    const calls: unknown[] = [];
    for (let round = 0; round < 3; round++) task.onStop(() => calls.push(round));
    handle.cancel();
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
    expect(calls).toEqual([0, 1, 2]);
    tool.finish();
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
