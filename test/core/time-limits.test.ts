import { describe, expect, it } from 'vitest';
import { type Draft, describeEnd, World } from './support/world.ts';

it('limits in time are rounded up to whole milliseconds', () => {
  const world = new World();
  const execution = world.submit({ timeoutMs: 0.4, stallMs: 1.2, deadlineMs: 2 ** 31 - 1 });
  expect(execution.terms).toMatchObject({ timeoutMs: 1, stallMs: 2 });
  expect(execution.deadlineAt).toBe(2 ** 31 - 1);
});

describe('limits in time', () => {
  it('give every limit its own reason', () => {
    const reasonOf = (draft: Draft) => {
      const world = new World();
      const execution = world.submit(draft);
      world.advance(100);
      return describeEnd(execution);
    };
    expect(reasonOf({ timeoutMs: 100 })).toBe('failed: timeout');
    expect(reasonOf({ stallMs: 100 })).toBe('failed: stalled');
    expect(reasonOf({ stallMs: 100, timeoutMs: Number.POSITIVE_INFINITY })).toBe('failed: stalled');
    expect(reasonOf({ deadlineMs: 100 })).toBe('failed: deadline');
    expect(reasonOf({ timeoutMs: 101, stallMs: 101, deadlineMs: 101 })).toBe('running');
  });

  it('count an attempt from its start, not from its submission', () => {
    const world = new World({ limits: { concurrency: 1 } });
    const first = world.submit({});
    const second = world.submit({ timeoutMs: 100 });
    world.advance(500);
    world.succeed(first);
    world.advance(99);
    expect(second.statusName).toBe('running');
    world.advance(1);
    expect(describeEnd(second)).toBe('failed: timeout');
  });

  it('count an attempt from where its work began, if that was later', () => {
    const world = new World();
    const execution = world.submit({ timeoutMs: 100, stallMs: 60 });
    world.advance(50);
    world.began(execution);
    world.advance(59);
    expect(execution.statusName).toBe('running');
    world.progress(execution);
    world.advance(40);
    expect(execution.statusName).toBe('running');
    world.advance(1);
    expect(describeEnd(execution)).toBe('failed: timeout');
  });

  it('pay no attention to the begin of an earlier attempt', () => {
    const world = new World();
    const execution = world.submit({ timeoutMs: 100, retry: { maxRetries: 1, delayMs: 0 } });
    world.fail(execution);
    world.advance(1);
    world.advance(50);
    world.began(execution, 1);
    world.advance(50);
    expect(describeEnd(execution)).toBe('failed: timeout');
  });

  it('count the deadline from submission, whatever the execution is waiting for', () => {
    const world = new World({ limits: { concurrency: 1 } });
    const running = world.submit({ deadlineMs: 200 });
    const queued = world.submit({ deadlineMs: 100 });
    const pending = world.submit({ deadlineMs: 50, dependsOn: [running] });
    world.advance(50);
    expect(describeEnd(pending)).toBe('failed: deadline');
    world.advance(50);
    expect(describeEnd(queued)).toBe('failed: deadline');
    world.advance(100);
    expect(describeEnd(running)).toBe('failed: deadline');
  });

  it('let the deadline end the pause between two attempts, and the wait for room after it', () => {
    const world = new World({ limits: { concurrency: 1 } });
    const retry = { maxRetries: 1, delayMs: 1000, jitter: 0 };
    const pausing = world.submit({ deadlineMs: 500, retry });
    world.fail(pausing);
    world.advance(500);
    expect(describeEnd(pausing)).toBe('failed: deadline');

    const waiting = world.submit({ deadlineMs: 1500, retry });
    world.fail(waiting);
    world.submit({ priority: 'critical' });
    world.advance(1000);
    expect(waiting.statusName).toBe('queued');
    world.advance(500);
    expect(describeEnd(waiting)).toBe('failed: deadline');
  });

  it('start the stall limit anew with every sign of life', () => {
    const world = new World();
    const execution = world.submit({ stallMs: 100 });
    for (let sign = 0; sign < 5; sign++) {
      world.advance(99);
      expect(world.progress(execution)).toBe(true);
    }
    world.advance(99);
    expect(execution.statusName).toBe('running');
    world.advance(1);
    expect(describeEnd(execution)).toBe('failed: stalled');
  });

  it('take signs of life from the current attempt only', () => {
    const world = new World();
    const execution = world.submit({ stallMs: 100, retry: { maxRetries: 1, delayMs: 0 } });
    world.fail(execution);
    world.advance(10);
    expect(execution.attempt).toBe(2);
    expect(world.progress(execution, 1)).toBe(false);
    world.advance(90);
    expect(world.progress(execution, 2)).toBe(true);
    expect(world.progress(world.submit({ dependsOn: [execution] }), 0)).toBe(false);
  });

  it('hold an attempt of which nothing is said for 300 seconds, and Infinity for ever', () => {
    const world = new World();
    const usual = world.submit({});
    const endless = world.submit({ timeoutMs: Number.POSITIVE_INFINITY });
    world.advance(299_999);
    expect(usual.statusName).toBe('running');
    world.advance(1);
    expect(describeEnd(usual)).toBe('failed: timeout');
    world.advance(1_000_000_000);
    expect(endless.statusName).toBe('running');
  });

  it('let a timeout and a stall be retried, but never a deadline', () => {
    const retry = { maxRetries: 1, delayMs: 0 };
    const statusAfter = (draft: Draft) => {
      const world = new World({ graceMs: 0 });
      const execution = world.submit({ ...draft, retry });
      world.advance(101);
      return `${execution.statusName} ${execution.attempt}`;
    };
    expect(statusAfter({ timeoutMs: 100 })).toBe('running 2');
    expect(statusAfter({ stallMs: 100 })).toBe('running 2');
    expect(statusAfter({ deadlineMs: 100 })).toBe('failed 1');
  });

  it('leave no timer behind', () => {
    const world = new World({ limits: { tools: { tool: { rate: { count: 5, perMs: 10 } } } } });
    for (let index = 0; index < 3; index++) {
      const execution = world.submit({
        timeoutMs: 10,
        stallMs: 20,
        deadlineMs: 30,
        retry: { maxRetries: 1 },
      });
      world.succeed(execution);
    }
    expect(world.scheduler.nextWakeAt()).toBe(Number.POSITIVE_INFINITY);
  });
});
