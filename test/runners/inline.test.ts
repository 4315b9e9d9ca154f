import { describe, expect, it } from 'vitest';
import { InlineRunner } from '../../src/runners/inline.ts';
import type { ToolCode, ToolRun } from '../../src/runners/runner.ts';
import { rejectionOf } from '../engine/support/errors.ts';
import { callOf, TestTask } from './thread/support/call.ts';

function callWith(run: ToolRun, input?: unknown) {
  return { ...callOf('default', input), code: { kind: 'function', run } satisfies ToolCode };
}

describe('the inline runner', () => {
  it('calls a function of this thread with the input itself and with its task', async () => {
    const task = new TestTask();
    const input = { work: () => 3 };
    const call = callWith((given, { id, report }) => {
      report(0.5, 'half');
      return [given, id];
    }, input);
    const result = (await new InlineRunner().run(call, task)) as unknown[];
    expect(result[0]).toBe(input);
    expect(result[1]).toBe(task.id);
    expect(task.said).toEqual([[0.5, 'half']]);
  });

  it('runs modules and texts in this thread as well', async () => {
    const runner = new InlineRunner();
    expect(await runner.run(callOf('default', 2), new TestTask())).toBe(4);
    expect(await runner.run(callOf('default', 3), new TestTask())).toBe(6);
    expect(
      await runner.run(
        callOf((input) => [input], 1),
        new TestTask(),
      ),
    ).toEqual([1]);
  });

  it('fails with the very error that was thrown', async () => {
    const error = new Error('mine');
    const call = callWith(() => {
      throw error;
    });
    expect(await rejectionOf(new InlineRunner().run(call, new TestTask()))).toBe(error);
  });

  it('begins nothing of a module that was stopped while it was loaded, nor anything after it was closed', async () => {
    const runner = new InlineRunner();
    const stopped = new TestTask();
    const loading = runner.run(callOf('default', 2), stopped);
    stopped.stop();
    expect(await rejectionOf(loading)).toMatchObject({ message: 'stopped' });
    await runner.close();
    let calls = 0;
    const late = runner.run(
      callWith(() => calls++),
      new TestTask(),
    );
    expect(await rejectionOf(late)).toMatchObject({ code: 'RUNNER_CLOSED' });
    expect(calls).toBe(0);
  });
});
