import { describe, expect, it } from 'vitest';
import { ToolFailure } from '../../../src/engine/tool-failure.ts';
import { rejectionOf } from '../../engine/support/errors.ts';
import { until } from '../../support/until.ts';
import { callOf, TestTask } from './support/call.ts';
import { openRunner } from './support/runner.ts';

const CRASHES = {
  'process.exit': callOf(() => process.exit(3)),
  'an exception in a callback': callOf(
    () =>
      new Promise(() => {
        setTimeout(() => {
          throw new Error('in a callback');
        });
      }),
  ),
  'a rejection that nobody handles': callOf(() => {
    void Promise.reject(new Error('in a promise'));
    return new Promise(() => {});
  }),
};

describe('a thread that ends by itself', () => {
  it.each(Object.entries(CRASHES))('fails the call that ran and no other: %s', async (_, crash) => {
    const runner = openRunner(1);
    const before = runner.run(callOf('default', 1), new TestTask());
    const failing = rejectionOf(runner.run(crash, new TestTask()));
    const after = [2, 3, 4].map((input) => runner.run(callOf('default', input), new TestTask()));
    const failure = await failing;
    expect(failure).toBeInstanceOf(ToolFailure);
    expect(failure).toMatchObject({ reason: 'crashed', retryable: true });
    expect((failure as Error).message).toMatch(/process\.exit\(3\)|in a callback|in a promise/);
    expect(await before).toBe(2);
    expect(await Promise.all(after)).toEqual([4, 6, 8]);
  });

  it('fails nobody if nothing ran when it did', async () => {
    const runner = openRunner(1);
    const gone = new Int32Array(new SharedArrayBuffer(4));
    const leaving = callOf((input) => {
      process.on('exit', () => Atomics.store(input as Int32Array, 0, 1));
      setImmediate(() => process.exit(1));
      return 'done';
    }, gone);
    expect(await runner.run(leaving, new TestTask())).toBe('done');
    await until(() => Atomics.load(gone, 0) === 1);
    expect(await runner.run(callOf('default', 4), new TestTask())).toBe(8);
  });
});
