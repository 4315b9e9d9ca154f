import { describe, expect, it } from 'vitest';
import { explain } from '../../src/core/explain.ts';
import { World } from './support/world.ts';

const TOOL = 'resize';

function worldWith(memoryMb: number, cpu = 8): World {
  return new World({ limits: { concurrency: 100, memoryMb, cpu } });
}

const submit = (world: World, more: object = {}) =>
  world.submit({ toolName: TOOL, learnUsage: true, ...more });
const needOf = ({ demand }: { demand: { needs: readonly number[] } }) => ({
  cpu: demand.needs[1]! / 1000,
  memoryMb: demand.needs[2]! / 1000,
});

describe('unclaimed needs', () => {
  it('are the defaults until something was measured, and follow most of what was measured then', () => {
    const world = worldWith(10_000);
    expect(needOf(submit(world))).toEqual({ cpu: 0.1, memoryMb: 100 });
    for (let index = 0; index < 99; index++) world.used(TOOL, { memoryMb: 300, cpu: 0.5 });
    world.used(TOOL, { memoryMb: 5000, cpu: 7 });
    const { cpu, memoryMb } = needOf(submit(world));
    expect(memoryMb).toBeGreaterThanOrEqual(300);
    expect(memoryMb).toBeLessThan(360);
    expect(cpu).toBeGreaterThanOrEqual(0.5);
    expect(cpu).toBeLessThan(0.6);
  });

  it('leave one core to each of two calls that kept one busy', () => {
    const world = worldWith(10_000, 2);
    for (const cpu of [0.98, 1, 1.01, 1.02]) world.used(TOOL, { cpu });
    const [one, other] = [submit(world), submit(world)];
    expect([one.statusName, other.statusName]).toEqual(['running', 'running']);
    expect(needOf(one).cpu).toBe(1);
  });

  it('are learned only for what is not claimed, and only if that is wanted', () => {
    const world = worldWith(10_000);
    world.used(TOOL, { memoryMb: 500, cpu: 2 });
    expect(needOf(submit(world, { resources: { memoryMb: 50 } })).memoryMb).toBe(50);
    expect(needOf(submit(world, { resources: { memoryMb: 50 } })).cpu).toBe(2);
    expect(needOf(submit(world, { learnUsage: false }))).toEqual({ cpu: 0.1, memoryMb: 100 });
    expect(needOf(submit(world, { toolName: 'other' }))).toEqual({ cpu: 0.1, memoryMb: 100 });
  });

  it('are never above a limit, also if that is lowered later', () => {
    const world = worldWith(1000, 2);
    world.used(TOOL, { memoryMb: 5000, cpu: 30 });
    const first = submit(world);
    expect(needOf(first)).toEqual({ cpu: 2, memoryMb: 1000 });
    const second = submit(world);
    world.limit({ memoryMb: 600, cpu: 1 });
    expect(needOf(second)).toEqual({ cpu: 1, memoryMb: 600 });
    world.succeed(first);
    expect(second.statusName).toBe('running');
    world.limit({ memoryMb: 6000, cpu: 100 });
    expect(needOf(second).memoryMb).toBeGreaterThanOrEqual(5000);
    world.succeed(second);
    expect(world.scheduler.dispatcher.resources.utilization().memoryMb.used).toBe(0);
  });

  it('change also for executions that wait, while those that run keep what they took', () => {
    const world = worldWith(1000);
    const running = Array.from({ length: 10 }, () => submit(world));
    const waiting = Array.from({ length: 10 }, () => submit(world));
    const used = () => world.scheduler.dispatcher.resources.utilization().memoryMb.used;
    expect([running[9]!.statusName, waiting[0]!.statusName]).toEqual(['running', 'queued']);
    world.used(TOOL, { memoryMb: 450 });
    expect(used()).toBe(1000);
    for (const one of running.slice(0, 5)) world.succeed(one);
    expect(waiting[0]!.statusName).toBe('running');
    expect(waiting[1]!.statusName).toBe('queued');
    for (const one of running.slice(5)) world.succeed(one);
    expect(waiting.filter(({ statusName }) => statusName === 'running')).toHaveLength(2);
    expect(explain(world.scheduler, waiting[5]!, world.now)).toMatchObject({
      reason: 'resource',
      resource: 'memoryMb',
      isLearned: true,
    });
    for (const one of waiting) world.succeed(one);
    expect(used()).toBe(0);
  });

  it('go down again when less is used', () => {
    const world = worldWith(10_000);
    for (let index = 0; index < 10; index++) world.used(TOOL, { memoryMb: 800 });
    for (let index = 0; index < 2000; index++) world.used(TOOL, { memoryMb: 50 });
    expect(needOf(submit(world)).memoryMb).toBeLessThan(70);
  });

  it.each([{ memoryMb: -1 }, { memoryMb: Number.NaN }, { cpu: Number.POSITIVE_INFINITY }, { cpu: '1' }])(
    'do not follow %j',
    (usage) => {
      const world = worldWith(1000);
      expect(() => world.used(TOOL, usage as never)).toThrow('must be a number');
      expect(needOf(submit(world))).toEqual({ cpu: 0.1, memoryMb: 100 });
    },
  );
});

describe('an execution that ran out of memory', () => {
  const draft = { resources: { memoryMb: 200 }, retry: { maxRetries: 2, delayMs: 0 } };

  it('holds what its failure asks for in the next attempt', () => {
    const world = worldWith(500);
    const large = submit(world, draft);
    world.fail(large, { reason: 'memory', memoryMb: 400 });
    world.advance(1);
    expect(large.statusName).toBe('running');
    expect(world.scheduler.dispatcher.resources.utilization().memoryMb.used).toBe(400);
    const other = submit(world, draft);
    expect(other.statusName).toBe('queued');
    world.succeed(large);
    expect(other.statusName).toBe('running');
    expect(needOf(other).memoryMb).toBe(200);
  });

  it('is not retried if that does not fit, or no retry is left', () => {
    const world = worldWith(500);
    const tooLarge = submit(world, draft);
    world.fail(tooLarge, { reason: 'memory', memoryMb: 501 });
    const last = submit(world, { ...draft, retry: { maxRetries: 0 } });
    world.fail(last, { reason: 'memory', memoryMb: 400 });
    expect([tooLarge.statusName, last.statusName]).toEqual(['failed', 'failed']);
  });

  it('keeps its locks and its place among others', () => {
    const world = worldWith(500);
    const first = submit(world, { ...draft, resources: { memoryMb: 200, exclusive: ['db'] } });
    const second = submit(world, { resources: { exclusive: ['db'] } });
    world.fail(first, { reason: 'memory', memoryMb: 400 });
    world.advance(1);
    for (const one of [first, second]) if (one.statusName === 'running') world.succeed(one);
    world.advance(1);
    for (const one of [first, second]) if (one.statusName === 'running') world.succeed(one);
    expect([first.statusName, second.statusName]).toEqual(['completed', 'completed']);
  });
});
