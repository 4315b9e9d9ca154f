import { describe, expect, it } from 'vitest';
import { ToolFailure } from '../../src/index.ts';
import { openEngine } from './support/engine.ts';
import { readUpdates, typesOf } from './support/updates.ts';

/** A function that fails a number of times, at once or by a promise, and then succeeds. */
function failing(times: number, fail: (attempt: number) => unknown = (n) => new Error(`failure ${n}`)) {
  return ({ attempt }: { attempt: number }): string => {
    if (attempt <= times) throw fail(attempt);
    return `attempt ${attempt}`;
  };
}

const quick = { delayMs: 1, jitter: 0 };

describe('retries', () => {
  it('try up to maxRetries times again', async () => {
    const engine = openEngine();
    const retry = { ...quick, maxRetries: 2 };
    const enough = engine.submit({ toolName: 'flaky', retry }, failing(2));
    const tooFew = engine.submit({ toolName: 'flaky', retry }, failing(3));
    expect(await enough.outcome()).toMatchObject({ status: 'completed', value: 'attempt 3', attempts: 3 });
    expect(await tooFew.outcome()).toMatchObject({
      status: 'failed',
      error: new Error('failure 3'),
      attempts: 3,
    });
    expect(engine.statistics().retries).toBe(4);
  });

  it('tell why and after what pause', async () => {
    const engine = openEngine();
    const retry = { maxRetries: 2, delayMs: 2, factor: 3, jitter: 0 };
    const handle = engine.submit({ toolName: 'flaky', retry }, failing(2));
    const updates = await readUpdates(handle.progress());
    expect(typesOf(updates)).toEqual(['started', 'retrying', 'started', 'retrying', 'started', 'completed']);
    expect(updates[1]).toMatchObject({ attempt: 1, reason: 'error', error: 'failure 1', retryInMs: 2 });
    expect(updates[3]).toMatchObject({ attempt: 2, reason: 'error', error: 'failure 2', retryInMs: 6 });
  });

  it('of a group are told to the last who asks, of no other group', async () => {
    const engine = openEngine();
    const retry = { maxRetries: 2, delayMs: 2, factor: 3, jitter: 0 };
    const submit = (id: string) => engine.submitAll([{ id, toolName: 'flaky', retry, run: failing(2) }]);
    const notices: unknown[] = [];
    const group = submit('a');
    group.onRetry(() => notices.push('not the last'));
    group.onRetry((notice) => notices.push(notice));
    await Promise.all([group.outcome(), submit('b').outcome()]);
    expect(notices).toEqual([
      { id: 'a', attempt: 1, reason: 'error', error: new Error('failure 1'), retryInMs: 2 },
      { id: 'a', attempt: 2, reason: 'error', error: new Error('failure 2'), retryInMs: 6 },
    ]);
  });

  it('make the same pauses for the same seed', async () => {
    const pauses = async (seed: number) => {
      const engine = openEngine({ seed });
      const retry = { maxRetries: 3, delayMs: 20, factor: 1, jitter: 1 };
      const handle = engine.submit({ toolName: 'flaky', retry }, failing(3));
      const updates = await readUpdates(handle.progress());
      return updates.flatMap((update) => (update.type === 'retrying' ? [update.retryInMs] : []));
    };
    const first = await pauses(7);
    expect(await pauses(7)).toEqual(first);
    expect(await pauses(8)).not.toEqual(first);
  });

  it('are not made after a failure that says so', async () => {
    const engine = openEngine();
    const retry = { ...quick, maxRetries: 3 };
    const permanent = failing(1, () => new ToolFailure('The key was refused', { retryable: false }));
    const marked = failing(1, () => Object.assign(new Error('refused'), { retryable: false }));
    const outcomes = await Promise.all([
      engine.submit({ toolName: 'refused', retry }, permanent).outcome(),
      engine.submit({ toolName: 'refused', retry }, marked).outcome(),
    ]);
    for (const outcome of outcomes) expect(outcome).toMatchObject({ status: 'failed', attempts: 1 });
  });

  it('are made after a crash only if the tool may run twice', async () => {
    const engine = openEngine();
    const retry = { ...quick, maxRetries: 1 };
    const crashing = failing(1, () => new ToolFailure('gone', { reason: 'crashed' }));
    const unsafe = engine.submit({ toolName: 'pay', retry }, crashing);
    const safe = engine.submit({ toolName: 'read', retry, idempotent: true }, crashing);
    expect(await unsafe.outcome()).toMatchObject({ status: 'failed', reason: 'crashed', attempts: 1 });
    expect(await safe.outcome()).toMatchObject({ status: 'completed', attempts: 2 });
  });

  it('are made for a function that throws undefined, too', async () => {
    const engine = openEngine();
    const handle = engine.submit(
      { toolName: 'flaky', retry: { ...quick, maxRetries: 1 } },
      failing(1, () => undefined),
    );
    expect(await handle.wait()).toBe('attempt 2');
    const retries: string[] = [];
    for await (const update of handle.progress()) if (update.type === 'retrying') retries.push(update.error);
    expect(retries).toEqual([expect.stringContaining('threw undefined')]);
  });

  it('end at the deadline', async () => {
    const engine = openEngine();
    const retry = { maxRetries: 1000, delayMs: 5, factor: 1, jitter: 0 };
    const handle = engine.submit(
      { toolName: 'hopeless', retry, deadlineMs: 400 },
      failing(Number.POSITIVE_INFINITY),
    );
    const outcome = await handle.outcome();
    expect(outcome).toMatchObject({ status: 'failed', reason: 'deadline' });
    expect(outcome.attempts).toBeGreaterThan(1);
  });

  it('give each attempt a signal of its own', async () => {
    const engine = openEngine();
    const signals: AbortSignal[] = [];
    const handle = engine.submit(
      { toolName: 'flaky', retry: { ...quick, maxRetries: 1 } },
      ({ signal, attempt }) => {
        signals.push(signal);
        if (attempt === 1) throw new Error('once');
      },
    );
    await handle.wait();
    expect(signals[0]).not.toBe(signals[1]);
    expect(signals.map((signal) => signal.aborted)).toEqual([false, false]);
  });
});
