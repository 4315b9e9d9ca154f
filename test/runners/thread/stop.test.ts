import { describe, expect, it } from 'vitest';
import { rejectionOf } from '../../engine/support/errors.ts';
import { callOf, Gate, TestTask } from './support/call.ts';
import { openRunner } from './support/runner.ts';

describe('stopping a call of the thread runner', () => {
  it('leaves at once while it waits, and never begins', async () => {
    const runner = openRunner(1);
    const gate = new Gate();
    const held = runner.run(callOf('hold', { gate: gate.words, value: 'held' }), new TestTask());
    const counter = new Int32Array(new SharedArrayBuffer(4));
    await gate.entered();
    // The first is sent ahead to the thread, the others wait in the queue.
    const tasks = Array.from({ length: 3 }, () => new TestTask());
    const waiting = tasks.map((task) => runner.run(callOf('count', { counter }), task));
    await new Promise((resolve) => setImmediate(resolve));
    const reason = new Error('not needed');
    for (const task of tasks) task.stop(reason);
    for (const promise of waiting) expect(await rejectionOf(promise)).toBe(reason);
    gate.open();
    expect(await held).toBe('held');
    expect(await runner.run(callOf('default', 1), new TestTask())).toBe(2);
    expect(counter[0]).toBe(0);
    expect(tasks.map(({ begun }) => begun)).toEqual([0, 0, 0]);
  });

  it('does not even begin one that was stopped before', async () => {
    const task = new TestTask();
    const reason = new Error('too late');
    task.stop(reason);
    expect(await rejectionOf(openRunner(1).run(callOf('default', 1), task))).toBe(reason);
    expect(task.begun).toBe(0);
  });

  it('tells the function through its own signal, with the reason', async () => {
    const runner = openRunner(1);
    const gate = new Gate();
    const task = new TestTask();
    const running = runner.run(callOf('obey', { gate: gate.words }), task);
    await gate.entered();
    const next = runner.run(
      callOf(async () => (await import('node:worker_threads')).threadId),
      new TestTask(),
    );
    task.stop(new DOMException('the limit of 5 ms', 'TimeoutError'));
    expect(await rejectionOf(running)).toMatchObject({ name: 'TimeoutError', message: 'the limit of 5 ms' });
    // The thread is the same as ever.
    const again = callOf(async () => (await import('node:worker_threads')).threadId);
    expect(await runner.run(again, new TestTask())).toBe(await next);
  });

  it('ends the thread of an endless loop, and gives the calls that were sent ahead to another', async () => {
    const runner = openRunner(1);
    const gate = new Gate();
    const counter = new Int32Array(new SharedArrayBuffer(4 * 40));
    // Known to be tiny, so that many are sent ahead.
    for (let index = 0; index < 20; index++)
      await runner.run(callOf('count', { counter, index: 39 }), new TestTask());
    const task = new TestTask();
    const endless = runner.run(callOf('loop', { gate: gate.words }), task);
    const tasks = Array.from({ length: 30 }, () => new TestTask());
    const others = tasks.map((other, index) => runner.run(callOf('count', { counter, index }), other));
    await gate.entered();
    const reason = new Error('enough');
    task.stop(reason);
    expect(await rejectionOf(endless)).toBe(reason);
    expect(await Promise.all(others)).toEqual(tasks.map((_, index) => index));
    expect([...counter.subarray(0, 30)]).toEqual(tasks.map(() => 1));
    expect(tasks.map(({ begun }) => begun)).toEqual(tasks.map(() => 1));
  });

  it('ends a function that ignores its signal, too', async () => {
    const runner = openRunner(1);
    const gate = new Gate();
    const task = new TestTask();
    const stubborn = runner.run(callOf('hold', { gate: gate.words }), task);
    await gate.entered();
    task.stop();
    expect(await rejectionOf(stubborn)).toMatchObject({ message: 'stopped' });
    expect(await runner.run(callOf('default', 4), new TestTask())).toBe(8);
  });

  it('hears of it through onStop, where the task has that, without asking for a signal', async () => {
    const runner = openRunner(1);
    const gate = new Gate();
    let stop: (reason: unknown) => void = () => {};
    const task = {
      id: 'exec-1',
      attempt: 1,
      report: () => {},
      began: () => {},
      onStop: (callback: typeof stop) => {
        stop = callback;
      },
      get signal(): AbortSignal {
        throw new Error('nobody needs it');
      },
    };
    const running = runner.run(callOf('obey', { gate: gate.words }), task);
    await gate.entered();
    stop(new Error('enough'));
    expect(await rejectionOf(running)).toMatchObject({ message: 'enough' });
    expect(await runner.run(callOf('default', 4), task)).toBe(8);
    stop(new Error('after the end it has no effect'));
  });
});
