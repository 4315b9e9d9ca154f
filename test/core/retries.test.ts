import { describe, expect, it } from 'vitest';
import type { Failure } from '../../src/core/failure.ts';
import { seededRandom } from '../../src/core/random.ts';
import { retryDelayMs, retryPolicy } from '../../src/core/retry.ts';
import { describeEnd, World } from './support/world.ts';

/** When each attempt started, of an execution that always fails at once. */
function startsOf(seed: number, jitter = 0.5): number[] {
  const world = new World({ seed });
  const execution = world.submit({ id: 'a', retry: { maxRetries: 4, delayMs: 1000, jitter } });
  while (execution.statusName !== 'failed') {
    if (execution.statusName === 'running') world.fail(execution);
    else world.advance(execution.retryAt - world.now);
  }
  return world.log.filter((line) => line.includes('start')).map((line) => Number.parseInt(line, 10));
}

describe('retries', () => {
  it('allow maxRetries further attempts, and then fail with the last failure', () => {
    const world = new World();
    const execution = world.submit({ retry: { maxRetries: 2, delayMs: 0 } });
    for (const reason of ['error', 'memory', 'cpu'] as const) {
      expect(execution.statusName).toBe('running');
      world.fail(execution, reason);
      world.advance(1);
    }
    expect(execution.attempt).toBe(3);
    expect(describeEnd(execution)).toBe('failed: cpu');
  });

  it('never come to a pause that is no number, however many there are', () => {
    const policy = retryPolicy({ maxRetries: 1000, delayMs: 0, factor: 100 });
    expect(retryDelayMs(policy, 1000, seededRandom(1))).toBe(0);
    expect(retryDelayMs({ ...policy, delayMs: 1, jitter: 0 }, 1000, seededRandom(1))).toBe(30_000);
  });

  it('are not used up by attempts that were lost with a worker or given back', () => {
    const world = new World();
    const execution = world.submit({ idempotent: true, retry: { maxRetries: 1, delayMs: 100, jitter: 0 } });
    world.fail(execution, { reason: 'error', isLost: true });
    world.advance(1);
    expect(execution.statusName).toBe('running');
    world.fail(execution, { reason: 'crashed', isLost: true });
    world.advance(200);
    world.fail(execution);
    expect(execution).toMatchObject({ statusName: 'retrying', attempt: 3, countedAttempts: 1 });
    world.advance(100);
    world.fail(execution);
    expect(describeEnd(execution)).toBe('failed: error');
  });

  it('follow a lost attempt only if it is idempotent, and not for ever', () => {
    const world = new World();
    const lost = { reason: 'crashed', isLost: true } as const;
    const once = world.submit({});
    world.fail(once, lost);
    expect(describeEnd(once)).toBe('failed: crashed');
    const poison = world.submit({ idempotent: true });
    while (poison.statusName !== 'failed') {
      if (poison.statusName === 'running') world.fail(poison, lost);
      else world.advance(poison.retryAt - world.now);
    }
    expect(poison.attempt).toBe(21);
  });

  it('do not happen unless they were asked for', () => {
    const world = new World();
    const execution = world.submit({});
    world.fail(execution);
    expect(describeEnd(execution)).toBe('failed: error');
  });

  it('have the defaults that are promised, each where it is left out', () => {
    const defaults = { maxRetries: 0, delayMs: 1000, factor: 2, maxDelayMs: 30_000, jitter: 0.5 };
    for (const given of [{}, { maxRetries: 3 }, { maxRetries: 20 }, { delayMs: 5 }, { jitter: 0 }])
      expect(retryPolicy(given)).toEqual({ ...defaults, ...given });
  });

  it('may be as many as a thousand, with pauses of any length', () => {
    for (const extreme of [
      { maxRetries: 1000, delayMs: 2 ** 31 - 1, factor: 100, maxDelayMs: 2 ** 31 - 1, jitter: 1 },
      { maxRetries: 0, delayMs: 0, factor: 1, maxDelayMs: 0, jitter: 0 },
    ])
      expect(retryPolicy(extreme)).toEqual(extreme);
  });

  it('wait twice as long each time, up to a limit', () => {
    expect(startsOf(1, 0)).toEqual([0, 1000, 3000, 7000, 15_000]);
    const policy = retryPolicy({ maxRetries: 9, delayMs: 100, factor: 3, maxDelayMs: 500, jitter: 0 });
    const delays = [1, 2, 3, 4].map((attempt) => retryDelayMs(policy, attempt, () => 0));
    expect(delays).toEqual([100, 300, 500, 500]);
  });

  it('have the same jitter for the same seed, and another for another', () => {
    expect(startsOf(7)).toEqual(startsOf(7));
    expect(startsOf(7)).not.toEqual(startsOf(8));
  });

  it('never wait longer than the full pause, nor less than what is not random of it', () => {
    const policy = retryPolicy({ maxRetries: 3, delayMs: 1000, jitter: 0.25 });
    const random = seededRandom(3);
    for (let round = 0; round < 1000; round++) {
      const delay = retryDelayMs(policy, 1, random);
      expect(delay).toBeGreaterThanOrEqual(750);
      expect(delay).toBeLessThanOrEqual(1000);
      expect(Number.isInteger(delay)).toBe(true);
    }
  });

  it('give the room free during the pause', () => {
    const world = new World({ limits: { concurrency: 1 } });
    const execution = world.submit({ retry: { maxRetries: 1 } });
    world.submit({ id: 'other' });
    world.fail(execution);
    expect(world.running).toEqual(['other']);
  });

  it.each<[string, Failure, boolean, string]>([
    ['a permanent error is not tried again', { reason: 'error', isPermanent: true }, true, 'failed'],
    ['a spent budget is not tried again', { reason: 'budget' }, true, 'failed'],
    ['a crash of what is not idempotent is not tried again', { reason: 'crashed' }, false, 'failed'],
    ['a crash of what is idempotent is tried again', { reason: 'crashed' }, true, 'retrying'],
    ['an error is tried again, idempotent or not', { reason: 'error' }, false, 'retrying'],
  ])('%s', (_, failure, idempotent, status) => {
    const world = new World();
    const execution = world.submit({ idempotent, retry: { maxRetries: 3 } });
    world.fail(execution, failure);
    expect(execution.statusName).toBe(status);
  });

  it('keep the place that the execution had by its age', () => {
    const world = new World({ limits: { concurrency: 1 } });
    const old = world.submit({ id: 'old', retry: { maxRetries: 1, delayMs: 100, jitter: 0 } });
    world.fail(old);
    world.advance(50);
    const blocker = world.submit({ id: 'blocker' });
    world.submit({ id: 'young' });
    world.advance(50);
    world.succeed(blocker);
    expect(world.running).toEqual(['old']);
  });
});
