import { describe, expect, it } from 'vitest';
import { VolleyError } from '../../../src/core/errors.ts';
import { ToolFailure } from '../../../src/engine/tool-failure.ts';
import { ThreadRunner } from '../../../src/runners/thread/thread-runner.ts';
import { rejectionOf, thrownBy } from '../../engine/support/errors.ts';
import { callOf, TestTask } from './support/call.ts';
import { openRunner } from './support/runner.ts';

describe('a call in a thread', () => {
  it('gives back what the function returns, and takes its input along', async () => {
    const runner = openRunner(1);
    const task = new TestTask();
    const where = callOf(
      async (input) => {
        const { isMainThread } = await import('node:worker_threads');
        return { input, isMainThread };
      },
      new Map([['a', [1n]]]),
    );
    expect(await runner.run(where, task)).toEqual({ input: new Map([['a', [1n]]]), isMainThread: false });
    expect(task.begun).toBe(1);
    expect(await runner.run(callOf('default', 21), new TestTask())).toBe(42);
    const context = callOf((_, { id, attempt, signal }) => [id, attempt, signal.aborted]);
    expect(await runner.run(context, new TestTask())).toEqual(['exec-1', 1, false]);
  });

  it('fails with the error of the function: its kind, message, stack and code', async () => {
    const runner = openRunner(1);
    const typed = callOf(function broken() {
      throw new RangeError('out of range');
    });
    const error = (await rejectionOf(runner.run(typed, new TestTask()))) as Error;
    expect(error).toBeInstanceOf(RangeError);
    expect(error.message).toBe('out of range');
    expect(error.stack).toContain('tool-tool.source.js');

    const missing = callOf(async () => (await import('node:fs')).readFileSync('/does/not/exist'));
    expect(await rejectionOf(runner.run(missing, new TestTask()))).toMatchObject({ code: 'ENOENT' });
    const text = callOf(() => {
      throw 'a text';
    });
    expect(await rejectionOf(runner.run(text, new TestTask()))).toBe('a text');
  });

  it('tells what is wrong with a function that uses variables outside it', async () => {
    const outside = 3;
    const call = callOf((input) => Number(input) + outside, 4);
    const error = await rejectionOf(openRunner(1).run(call, new TestTask()));
    expect(error).toBeInstanceOf(ReferenceError);
    expect((error as Error).message).toMatch(/outside is not defined.*sent as text.*`module`/);
  });

  it('refuses a result that cannot be sent or is too large, and goes on', async () => {
    const runner = openRunner(1);
    const fail = async (call: Parameters<ThreadRunner['run']>[0]) =>
      await rejectionOf(runner.run(call, new TestTask()));
    expect(await fail(callOf(() => () => 1))).toMatchObject({ code: 'UNSERIALISABLE_RESULT' });
    expect(await fail(callOf(() => [() => 1], 0, { resultBytes: 100 }))).toMatchObject({
      code: 'UNSERIALISABLE_RESULT',
    });
    for (const large of [() => 'x'.repeat(101), () => ({ list: Array(101).fill(1) })]) {
      const error = await fail(callOf(large, 0, { resultBytes: 100 }));
      expect(error).toBeInstanceOf(VolleyError);
      expect(error).toMatchObject({ code: 'RESULT_TOO_LARGE', details: { limitBytes: 100 } });
    }
    expect(
      await runner.run(
        callOf(() => 'x'.repeat(100), 0, { resultBytes: 100 }),
        new TestTask(),
      ),
    ).toHaveLength(100);
  });

  it('refuses an input that cannot be sent; calls that were sent along with it are not touched', async () => {
    const runner = openRunner(1);
    const inputs = [1, () => 2, 3];
    const results = await Promise.allSettled(
      inputs.map((input) => runner.run(callOf('default', input), new TestTask())),
    );
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(results[1]).toMatchObject({
      reason: { code: 'UNSERIALISABLE_INPUT', details: { toolName: 'tool' } },
    });
  });

  it('refuses a function of this thread, and a number of threads that makes no sense', async () => {
    const call = { ...callOf('default'), code: { kind: 'function', run: () => 1 } as const };
    expect(await rejectionOf(openRunner(1).run(call, new TestTask()))).toMatchObject({
      code: 'INVALID_TOOL',
    });
    for (const maxThreads of [0, 1.5, Number.NaN])
      expect(thrownBy(() => new ThreadRunner({ maxThreads }))).toMatchObject({ code: 'INVALID_VALUE' });
  });

  it('keeps the reason and the code of the typed errors of Volley', async () => {
    const runner = openRunner(1);
    const failing = callOf(() => {
      throw Object.assign(new Error('no'), { name: 'ToolFailure', reason: 'budget', retryable: false });
    });
    const failure = await rejectionOf(runner.run(failing, new TestTask()));
    expect(failure).toBeInstanceOf(ToolFailure);
    expect(failure).toMatchObject({ message: 'no', reason: 'budget', retryable: false });
    const reporting = callOf((_, { report }) => report(2));
    const error = await rejectionOf(runner.run(reporting, new TestTask()));
    expect(error).toBeInstanceOf(VolleyError);
    expect(error).toMatchObject({ code: 'INVALID_VALUE' });
  });

  it('gives each call its own result when very many are in flight, simple and not', async () => {
    const runner = openRunner(2);
    const values = [undefined, null, false, true, 0, -0, -1.5, Number.NaN, '', 'text', [1], { a: 1 }, 1n];
    const expected = Array.from({ length: 3000 }, (_, index) => values[(index * 7) % values.length]);
    const echo = callOf((input) => input);
    const results = expected.map((input) => runner.run({ ...echo, input }, new TestTask()));
    expect(await Promise.all(results)).toEqual(expected);
  });
});
