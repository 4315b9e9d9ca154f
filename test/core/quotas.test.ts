import { describe, expect, it } from 'vitest';
import { explain } from '../../src/core/explain.ts';
import { MAX_PAUSE_MS, MAX_REFUSALS } from '../../src/core/quota.ts';
import { World, type WorldOptions } from './support/world.ts';

/** Times are never 0, which means none. */
function newWorld(options: WorldOptions = {}): World {
  const world = new World(options);
  world.advance(1);
  return world;
}

const refusal = (limit: { scope?: string; retryAfterMs?: number } = {}) =>
  ({ reason: 'error', limit }) as const;

describe('a quota that is used up', () => {
  it('keeps back everything that uses it and nothing else, without using an attempt', () => {
    const world = newWorld();
    const a = world.submit({ id: 'a', toolName: 'api' });
    world.fail(a, refusal({ retryAfterMs: 1000 }));
    world.submit({ id: 'b', toolName: 'api' });
    world.submit({ id: 'c', toolName: 'other' });
    expect(world.running).toEqual(['c']);
    expect(a.statusName).toBe('queued');
    world.advance(999);
    expect(world.running).toEqual(['c']);
    world.advance(1);
    expect(world.running).toEqual(['c', 'a']);
    // It has no retries.
    expect(world.succeed(a)).toBe(true);
    expect(a.statusName).toBe('completed');
  });

  it('is kept even if a tool names a thousand others, and forgotten only if nothing waits for it', () => {
    const world = newWorld();
    const waiting = world.submit({ id: 'waiting', toolName: 'waiting' });
    world.fail(waiting, refusal({ retryAfterMs: MAX_PAUSE_MS }));
    for (let count = 0; count < 1100; count++) {
      const one = world.submit({ toolName: `tool${count % 40}` });
      world.fail(one, refusal({ scope: `made-up-${count}`, retryAfterMs: MAX_PAUSE_MS }));
      world.cancel(one);
    }
    const { quotas } = world.scheduler.dispatcher;
    expect(quotas.byName.size).toBeLessThanOrEqual(1000);
    expect(waiting.statusName).toBe('queued');
    expect(quotas.byName.has('waiting')).toBe(true);
    const late = world.submit({ id: 'late', toolName: 'late' });
    world.fail(late, refusal({ retryAfterMs: 1000 }));
    expect(late.statusName).toBe('queued');
    world.advance(1000);
    expect(world.running).toContain('late');
  });

  it('is tried by one, then opens for half as many, then for one more after each round', () => {
    const world = newWorld();
    const { executions } = world.submitAll(Array.from({ length: 20 }, (_, i) => ({ id: `e${i}` })));
    expect(world.running).toHaveLength(20);
    for (const execution of executions) world.fail(execution, refusal({ retryAfterMs: 50 }));
    expect(world.running).toEqual([]);
    world.advance(50);
    expect(world.running).toEqual(['e0']);
    world.succeed(executions[0]!);
    expect(world.running).toHaveLength(10);
    for (let done = 0; done < 10; done++) world.succeed(world.find(world.running[0]!));
    // 9 are left of 20, and 11 could run.
    expect(world.scheduler.dispatcher.quotas.standings(world.now)).toMatchObject([{ allowed: 11 }]);
    expect(world.running).toHaveLength(9);
  });

  it('is forgotten when as many run at once as when it was used up', () => {
    const world = newWorld();
    const { executions } = world.submitAll(Array.from({ length: 12 }, () => ({})));
    for (const execution of executions.slice(0, 2)) world.fail(execution, refusal({ retryAfterMs: 5 }));
    for (const execution of executions.slice(2)) world.succeed(execution);
    world.advance(5);
    while (world.attempts.length > 0) world.succeed(world.attempts[0]!.execution);
    expect(world.scheduler.dispatcher.quotas.isEmpty).toBe(false);
    for (let round = 0; round < 200 && !world.scheduler.dispatcher.quotas.isEmpty; round++)
      world.succeed(world.submit({}));
    expect(world.scheduler.dispatcher.quotas.isEmpty).toBe(true);
  });

  it('is asked less and less often while it refuses, also if it promises more', () => {
    const world = newWorld();
    const a = world.submit({});
    const pauses: number[] = [];
    for (let round = 0; round < 14; round++) {
      const from = world.now;
      world.fail(a, refusal(round % 2 === 0 ? {} : { retryAfterMs: 1 }));
      world.advance(Math.max(1, world.scheduler.nextWakeAt() - world.now));
      while (a.statusName !== 'running') world.advance(world.scheduler.nextWakeAt() - world.now);
      pauses.push(world.now - from);
    }
    expect(pauses.slice(0, 5)).toEqual([1000, 1000, 4000, 4000, 16_000]);
    expect(Math.max(...pauses)).toBe(900_000);
  });

  it('pauses no longer than a week, and a time limit of the group still counts', () => {
    const world = newWorld();
    const a = world.submit({ toolName: 'a' });
    world.fail(a, refusal({ retryAfterMs: Number.MAX_SAFE_INTEGER }));
    const [standing] = world.scheduler.dispatcher.quotas.standings(world.now);
    expect(standing?.pausedForMs).toBe(MAX_PAUSE_MS);
    const { executions } = world.submitAll([{ toolName: 'b' }], { timeoutMs: 100 });
    world.fail(executions[0]!, refusal({ retryAfterMs: 1000 }));
    world.advance(100);
    expect(executions[0]!.ending).toMatchObject({ kind: 'failed', failure: { reason: 'deadline' } });
  });

  it('no longer excuses one that was refused too often: that counts as a failed attempt', () => {
    const world = newWorld();
    const a = world.submit({ retry: { maxRetries: 1, delayMs: 0 } });
    for (let round = 0; round < MAX_REFUSALS + 1; round++) {
      expect(a.statusName).toBe('running');
      world.fail(a, refusal());
      while (a.statusName !== 'running') world.advance(world.scheduler.nextWakeAt() - world.now);
    }
    expect(a.countedAttempts).toBe(2);
    world.fail(a, refusal());
    expect(a.statusName).toBe('failed');
  });

  it('is taken instead of another that is used up, and each failed attempt prefers the next', () => {
    const world = newWorld();
    const quota = ['cheap', 'strong'];
    const a = world.submit({ id: 'a', quota, retry: { maxRetries: 2, delayMs: 0 } });
    expect(a.quota).toBe('cheap');
    world.fail(a);
    world.advance();
    expect(a.quota).toBe('strong');
    world.fail(a, refusal({ retryAfterMs: 100 }));
    world.advance();
    expect([a.quota, a.statusName]).toEqual(['cheap', 'running']);
    world.fail(a, refusal({ retryAfterMs: 50 }));
    world.advance();
    expect(a.statusName).toBe('queued');
    expect(explain(world.scheduler, a, world.now)).toMatchObject({
      reason: 'quota',
      scope: 'cheap',
      pausedForMs: 50,
    });
    world.advance(50);
    expect([a.quota, a.statusName]).toEqual(['cheap', 'running']);
  });

  it('also pauses another quota that the attempt names', () => {
    const world = newWorld();
    const a = world.submit({ id: 'a', toolName: 'one' });
    world.fail(a, refusal({ scope: 'account', retryAfterMs: 100 }));
    world.submit({ id: 'b', toolName: 'two', quota: 'account' });
    world.submit({ id: 'c', toolName: 'one' });
    expect(world.running).toEqual([]);
    world.advance(100);
    expect(world.running).toEqual(['a', 'b']);
  });

  it('opens when its probe has run for a minute, since a refusal comes early', () => {
    const world = newWorld();
    const { executions } = world.submitAll([{ id: 'a' }, { id: 'b' }, { id: 'c' }, { id: 'd' }]);
    for (const execution of executions) world.fail(execution, refusal({ retryAfterMs: 10 }));
    world.advance(10);
    expect(world.running).toEqual(['a']);
    world.advance(60_000);
    expect(world.running).toEqual(['a', 'b']);
  });

  it('is tried by another if its probe is cancelled', () => {
    const world = newWorld({ graceMs: 0 });
    const { executions } = world.submitAll([{ id: 'a' }, { id: 'b' }]);
    for (const execution of executions) world.fail(execution, refusal({ retryAfterMs: 10 }));
    world.advance(10);
    world.cancel(executions[0]!);
    world.advance(1);
    expect(world.running).toEqual(['b']);
  });

  it('does not keep room for one that waits for it', () => {
    const world = newWorld({ limits: { concurrency: 2, cpu: 2 }, reserveAfterMs: 0 });
    const hog = world.submit({ id: 'hog', toolName: 'x', resources: { cpu: 2 } });
    const big = world.submit({ id: 'big', toolName: 'api', resources: { cpu: 2 } });
    world.succeed(hog);
    world.fail(big, refusal({ retryAfterMs: 1000 }));
    world.submit({ id: 'small', toolName: 'x', resources: { cpu: 1 } });
    world.submit({ id: 'small2', toolName: 'x', resources: { cpu: 1 } });
    expect(world.running).toEqual(['small', 'small2']);
  });
});
