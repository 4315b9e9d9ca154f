import { describe, expect, it } from 'vitest';
import { describeEnd, World } from './support/world.ts';

describe('an attempt that was told to stop', () => {
  it('keeps its room until it is gone', () => {
    const world = new World({ limits: { concurrency: 1 }, graceMs: 1000 });
    const first = world.submit({ id: 'first', resources: { exclusive: ['db'] } });
    world.submit({ id: 'second' });
    world.cancel(first);
    expect(describeEnd(first)).toBe('cancelled: asked');
    expect(world.running).toEqual([]);
    expect(world.succeed(first)).toBe(false);
    expect(world.running).toEqual(['second']);
    expect(world.log).not.toContain('0 abandon first#1');
  });

  it('is abandoned after its grace period, and said to be', () => {
    const world = new World({ limits: { concurrency: 1 }, graceMs: 1000 });
    const first = world.submit({ id: 'first' });
    world.submit({ id: 'second' });
    world.cancel(first);
    world.advance(999);
    expect(world.running).toEqual([]);
    world.advance(1);
    expect(world.running).toEqual(['second']);
    expect(world.log.filter((line) => line.includes(' first'))).toEqual([
      '0 start first#1',
      '0 stop first#1',
      '0 settle first cancelled: asked',
      '1000 abandon first#1',
      '1000 release first',
    ]);
  });

  it('is abandoned at once without a grace period', () => {
    const world = new World({ limits: { concurrency: 1 }, graceMs: 0 });
    const first = world.submit({});
    world.submit({ id: 'second' });
    world.advance(10);
    world.cancel(first);
    expect(world.running).toEqual(['second']);
    expect(world.log).toContain('10 abandon exec-1#1');
  });

  it('can change nothing any more, however it answers', () => {
    const world = new World({ graceMs: 10 });
    const execution = world.submit({ id: 'a' });
    world.cancel(execution);
    expect(world.fail(execution)).toBe(false);
    expect(world.succeed(execution)).toBe(false);
    world.advance(100);
    expect(world.succeed(execution)).toBe(false);
    expect(describeEnd(execution)).toBe('cancelled: asked');
    expect(world.log.filter((line) => line.includes('settle'))).toHaveLength(1);
  });

  it('is fenced from the attempt that follows it', () => {
    const world = new World({ graceMs: 0 });
    const execution = world.submit({ timeoutMs: 10, retry: { maxRetries: 1, delayMs: 0 } });
    world.advance(11);
    expect(execution.attempt).toBe(2);
    expect(world.succeed(execution, 1)).toBe(false);
    expect(world.fail(execution, 'error', 1)).toBe(false);
    expect(execution.statusName).toBe('running');
    expect(world.succeed(execution, 2)).toBe(true);
  });

  it('holds back its own retry while it lingers', () => {
    const world = new World({ graceMs: 1000 });
    const execution = world.submit({ timeoutMs: 10, retry: { maxRetries: 1, delayMs: 0, jitter: 0 } });
    world.advance(500);
    expect(execution.statusName).toBe('retrying');
    expect(world.succeed(execution)).toBe(false);
    expect(execution.attempt).toBe(2);
    world.advance(10);
    expect(describeEnd(execution)).toBe('failed: timeout');
  });

  it.each([
    { pause: 'is over', delayMs: 0, startsAt: 1010 },
    { pause: 'lasts', delayMs: 1500, startsAt: 1510 },
  ])(
    'lets its retry go on when it is abandoned, or later if the pause before it $pause',
    ({ delayMs, startsAt }) => {
      const world = new World({ graceMs: 1000 });
      const execution = world.submit({ timeoutMs: 10, retry: { maxRetries: 1, delayMs, jitter: 0 } });
      world.advance(startsAt - 1);
      expect(execution.statusName).toBe('retrying');
      world.advance(1);
      expect(execution.attempt).toBe(2);
      expect(execution.statusName).toBe('running');
    },
  );

  it.each([
    { end: 'cancelled: asked', draft: {} },
    { end: 'failed: deadline', draft: { deadlineMs: 20 } },
  ])(
    'may end for good while it lingers before a retry ($end), and is not stopped twice',
    ({ end, draft }) => {
      const world = new World({ graceMs: 1000 });
      const execution = world.submit({ id: 'a', timeoutMs: 10, retry: { maxRetries: 1 }, ...draft });
      world.advance(20);
      world.cancel(execution);
      expect(describeEnd(execution)).toBe(end);
      world.advance(1000);
      expect(world.log.filter((line) => line.includes('stop') || line.includes('abandon'))).toEqual([
        '10 stop a#1',
        '1010 abandon a#1',
      ]);
    },
  );

  it('keeps its locks while it lingers, even when it was forgotten by its id', () => {
    const world = new World({ graceMs: 1000, retainSettled: 0 });
    const first = world.submit({ resources: { exclusive: ['db'] } });
    world.submit({ id: 'second', resources: { shared: ['db'] } });
    world.cancel(first);
    expect(world.scheduler.graph.find(first.id)).toBeUndefined();
    expect(world.running).toEqual([]);
    world.succeed(first);
    expect(world.running).toEqual(['second']);
  });
});

describe('cancelling', () => {
  it('says no, and changes nothing, when the execution has settled', () => {
    const world = new World();
    const done = world.submit({});
    world.succeed(done);
    expect(world.cancel(done)).toBe(false);
    expect(done.statusName).toBe('completed');
    const cancelled = world.submit({});
    expect(world.cancel(cancelled)).toBe(true);
    expect(world.cancel(cancelled, 'again')).toBe(false);
    expect(describeEnd(cancelled)).toBe('cancelled: asked');
  });

  it('reaches an execution in every state that is not final', () => {
    const world = new World({ limits: { concurrency: 2 } });
    const running = world.submit({ resources: { exclusive: ['db'] } });
    const behindLock = world.submit({ resources: { exclusive: ['db'] } });
    const retrying = world.submit({ retry: { maxRetries: 1 } });
    world.fail(retrying);
    world.submit({});
    const queued = world.submit({});
    const pending = world.submit({ dependsOn: [running] });
    const all = [pending, queued, retrying, behindLock, running];
    expect(all.map((execution) => execution.statusName)).toEqual([
      'pending',
      'queued',
      'retrying',
      'queued',
      'running',
    ]);
    for (const execution of all) expect(world.cancel(execution)).toBe(true);
    expect(all.map(describeEnd)).toEqual(Array(5).fill('cancelled: asked'));
  });
});
