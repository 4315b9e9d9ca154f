import { describe, expect, it } from 'vitest';
import { callOf, TestTask } from './support/call.ts';
import { openRunner } from './support/runner.ts';

describe('progress out of a thread', () => {
  it('comes in order while the call runs, shares and steps alike', async () => {
    const task = new TestTask();
    const gate = new Int32Array(new SharedArrayBuffer(4));
    const call = callOf(async (input, { report }) => {
      report(0.25, 'first');
      // Goes on when the report has arrived.
      while (Atomics.load(input as Int32Array, 0) === 0) await new Promise((go) => setTimeout(go, 1));
      report('second');
      report(0.75);
      return 'done';
    }, gate);
    const report = (...args: unknown[]) => {
      task.said.push(args);
      Atomics.store(gate, 0, 1);
    };
    expect(await openRunner(1).run(call, Object.assign(Object.create(task), { report }))).toBe('done');
    expect(task.said[0]).toEqual([0.25, 'first']);
    // The two that follow each other come as one, or as two where the thread was held up between them.
    const flat = task.said.slice(1).flat();
    expect(flat.filter((part) => typeof part === 'number')).toEqual([0.75]);
    expect(flat.filter((part) => typeof part === 'string')).toEqual(['second']);
  });

  it('is coalesced: a flood of reports does not bury the host, and the last one arrives before the result', async () => {
    const task = new TestTask();
    const call = callOf((_, { report }) => {
      for (let index = 1; index <= 100_000; index++) report(index / 100_000, `step ${index}`);
    });
    await openRunner(1).run(call, task);
    expect(task.said.length).toBeLessThan(1000);
    expect(task.said.at(-1)).toEqual([1, 'step 100000']);
  });

  it('is attributed to its own call when many are in flight, and a late report of a call that is over is ignored', async () => {
    const runner = openRunner(2);
    const call = (input: number) =>
      callOf(async (share, { report }) => {
        report(share as number);
        setImmediate(() => report(0.123));
        return share;
      }, input);
    const tasks = Array.from({ length: 200 }, () => new TestTask());
    await Promise.all(tasks.map((task, index) => runner.run(call(index / 1000), task)));
    await runner.run(
      callOf(() => new Promise((done) => setImmediate(done))),
      new TestTask(),
    );
    expect(tasks.map(({ said }) => said)).toEqual(tasks.map((_, index) => [[index / 1000, undefined]]));
  });
});
