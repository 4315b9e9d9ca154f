import { existsSync, readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { rejectionOf } from '../../engine/support/errors.ts';
import { until } from '../../support/until.ts';
import { callOf, Gate, TestTask } from './support/call.ts';
import { openRunner } from './support/runner.ts';

/** The threads of this process, by what the system says. */
const THREADS = '/proc/self/task';

describe('closing a thread runner', () => {
  it('rejects what runs, what was sent ahead and what waits, and takes nothing any more', async () => {
    const runner = openRunner(1);
    const gate = new Gate();
    const running = runner.run(callOf('loop', { gate: gate.words }), new TestTask());
    await gate.entered();
    const tasks = Array.from({ length: 3 }, () => new TestTask());
    const waiting = tasks.map((task) => runner.run(callOf('default', 1), task));
    await new Promise((resolve) => setImmediate(resolve));
    const rejections = [running, ...waiting].map(rejectionOf);
    const closing = runner.close();
    expect(runner.close()).toBe(closing);
    const late = rejectionOf(runner.run(callOf('default', 1), new TestTask()));
    for (const rejection of [...rejections, late])
      expect(await rejection).toMatchObject({ code: 'RUNNER_CLOSED' });
    await closing;
    for (const task of tasks) task.stop();
    expect(tasks.map(({ begun }) => begun)).toEqual([0, 0, 0]);
  });

  it('while threads are being started, too', async () => {
    const runner = openRunner(2);
    const calls = [1, 2].map((input) => rejectionOf(runner.run(callOf('default', input), new TestTask())));
    await new Promise((resolve) => setImmediate(resolve));
    await runner.close();
    for (const call of calls) expect(await call).toMatchObject({ code: 'RUNNER_CLOSED' });
  });

  it.runIf(existsSync(THREADS))('leaves no thread behind', async () => {
    // Node starts threads of its own for files, and keeps them.
    await Promise.all(Array.from({ length: 8 }, () => readFile(new URL(import.meta.url))));
    const before = new Set(readdirSync(THREADS));
    const runner = openRunner(3);
    const gates = [new Gate(), new Gate(), new Gate()];
    const calls = gates.map(({ words }) =>
      rejectionOf(runner.run(callOf('hold', { gate: words }), new TestTask())),
    );
    for (const gate of gates) await gate.entered();
    // By their numbers: one of a test before may only be gone by now.
    const started = readdirSync(THREADS).filter((thread) => !before.has(thread));
    expect(started.length).toBeGreaterThanOrEqual(3);
    await runner.close();
    await Promise.all(calls);
    await until(() => readdirSync(THREADS).every((thread) => !started.includes(thread)));
  });
});
