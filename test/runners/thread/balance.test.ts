import { describe, expect, it } from 'vitest';
import { callOf, Gate, TestTask } from './support/call.ts';
import { openRunner } from './support/runner.ts';

describe('calls that were sent ahead', () => {
  it('do not wait behind a slow one while another thread is free', async () => {
    const runner = openRunner(2);
    const gates = [new Gate(), new Gate()];
    const held = gates.map((gate) =>
      runner.run(callOf('hold', { gate: gate.words, value: 'held' }), new TestTask()),
    );
    for (const gate of gates) await gate.entered();
    const others = [1, 2, 3, 4, 5].map((input) => runner.run(callOf('default', input), new TestTask()));
    gates[1]!.open();
    expect(await Promise.all(others)).toEqual([2, 4, 6, 8, 10]);
    gates[0]!.open();
    expect(await Promise.all(held)).toEqual(['held', 'held']);
  });

  it('begin, as far as time limits go, when a thread is free for them', async () => {
    const runner = openRunner(1);
    const gates = [new Gate(), new Gate(), new Gate()];
    const tasks = gates.map(() => new TestTask());
    const calls = gates.map(({ words }, index) => runner.run(callOf('hold', { gate: words }), tasks[index]!));
    const begun = () => tasks.map((task) => task.begun);
    await gates[0]!.entered();
    expect(begun()).toEqual([1, 0, 0]);
    gates[0]!.open();
    await calls[0];
    await gates[1]!.entered();
    expect(begun()).toEqual([1, 1, 0]);
    gates[1]!.open();
    await gates[2]!.entered();
    await calls[1];
    expect(begun()).toEqual([1, 1, 1]);
    gates[2]!.open();
    await calls[2];
  });

  it('get a second thread where one is allowed, rather than wait for the first', async () => {
    const runner = openRunner(2);
    expect(await runner.run(callOf('default', 1), new TestTask())).toBe(2);
    const gate = new Gate();
    const held = runner.run(callOf('hold', { gate: gate.words, value: 'held' }), new TestTask());
    expect(await runner.run(callOf('default', 2), new TestTask())).toBe(4);
    gate.open();
    expect(await held).toBe('held');
  });
});
