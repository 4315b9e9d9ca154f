import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RateLimit } from '../../src/core/rate.ts';
import { World } from './support/world.ts';

describe('a rate', () => {
  it('is never exceeded in any window, wherever the window begins and however late the starts come', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 50 }),
        fc.array(fc.tuple(fc.nat(30), fc.nat(9)), { minLength: 1, maxLength: 60 }),
        (count, perMs, steps) => {
          const limit = new RateLimit('tool a', count, perMs);
          const starts: number[] = [];
          let now = 0;
          for (const [pause, lateMs] of steps) {
            now = Math.max(now + pause, limit.allowedAt(now + pause));
            limit.record(now);
            limit.postpone(now, now + lateMs);
            now += lateMs;
            starts.push(now);
          }
          for (const from of starts) {
            const inWindow = starts.filter((at) => at >= from && at < from + perMs);
            expect(inWindow.length).toBeLessThanOrEqual(count);
          }
        },
      ),
    );
  });

  it('lets the next start at the very moment when the window has passed', () => {
    const world = new World({ limits: { tools: { tool: { rate: { count: 2, perMs: 100 } } } } });
    for (let index = 0; index < 5; index++) world.submit({ id: `e${index}` });
    world.advance(300);
    expect(world.log.filter((line) => line.includes('start'))).toEqual([
      '0 start e0#1',
      '0 start e1#1',
      '100 start e2#1',
      '100 start e3#1',
      '200 start e4#1',
    ]);
  });

  it('counts attempts, not executions', () => {
    const world = new World({ limits: { tools: { tool: { rate: { count: 1, perMs: 100 } } } } });
    const execution = world.submit({ retry: { maxRetries: 1, delayMs: 0 } });
    world.fail(execution);
    world.advance(99);
    expect(execution.attempt).toBe(1);
    world.advance(1);
    expect(execution.attempt).toBe(2);
  });

  it('keeps nothing out that it does not concern', () => {
    const world = new World({ limits: { tools: { slow: { rate: { count: 1, perMs: 100 } } } } });
    world.submitAll([{ toolName: 'slow' }, { toolName: 'slow', priority: 'critical' }, { id: 'quick' }]);
    expect(world.running).toContain('quick');
  });

  it('does not begin anew when it is set again', () => {
    const limits = { tools: { tool: { rate: { count: 2, perMs: 100 } } } };
    const world = new World({ limits });
    for (let index = 0; index < 6; index++) world.submit({});
    world.advance(50);
    world.limit(limits);
    expect(world.started).toHaveLength(2);
    world.limit({ tools: { tool: { rate: { count: 3, perMs: 100 } } } });
    expect(world.started).toHaveLength(3);
    world.limit({ tools: { tool: { rate: { count: 1, perMs: 100 } } } });
    world.advance(99);
    expect(world.started).toHaveLength(3);
    world.advance(1);
    expect(world.started).toHaveLength(4);
  });

  it('can be taken away while others wait for it', () => {
    const world = new World({ limits: { tools: { tool: { rate: { count: 1, perMs: 1000 } } } } });
    world.submitAll([{}, {}, {}]);
    expect(world.started).toHaveLength(1);
    world.limit({ tools: { tool: { rate: null } } });
    expect(world.started).toHaveLength(3);
    expect(world.scheduler.nextWakeAt()).toBe(300_000);
  });

  it('holds for a tool and for a group at the same time', () => {
    const world = new World({ limits: { tools: { tool: { rate: { count: 3, perMs: 100 } } } } });
    world.submitAll(Array(6).fill({}), { rate: { count: 2, perMs: 150 } });
    const startsBy = (ms: number) => {
      world.advance(ms - world.now);
      return world.started.length;
    };
    expect([0, 100, 150, 250, 300].map(startsBy)).toEqual([2, 2, 4, 4, 6]);
  });
});
