import { describe, expect, it } from 'vitest';
import type { SchedulerLimits } from '../../src/core/scheduler-options.ts';
import { type Draft, World } from './support/world.ts';

const LARGE = { id: 'large', resources: { cpu: 4 } } as const;
const SMALL = { resources: { cpu: 1 } } as const;

/** Lets small ones come and go, one always overlapping the next, and tells when the large one starts. */
function runStream(world: World, untilMs: number): number | undefined {
  const large = world.find('large');
  while (large.statusName === 'queued' && world.now < untilMs) {
    world.advance(50);
    world.succeed(world.attempts[0]!.execution);
    world.submit(SMALL);
  }
  return large.statusName === 'running' ? large.startedAt : undefined;
}

describe('backfilling', () => {
  it('lets small ones pass a large one that has not waited long', () => {
    const world = new World({ reserveAfterMs: 1000, limits: { cpu: 4 } });
    world.submit(SMALL);
    world.submit(LARGE);
    world.submit({ ...SMALL, id: 'small' });
    expect(world.running).toEqual(['exec-1', 'small']);
  });

  it('keeps room for a large one that has waited, so that a stream of small ones cannot starve it', () => {
    const world = new World({ reserveAfterMs: 1000, limits: { cpu: 4 } });
    for (let index = 0; index < 4; index++) world.submit(SMALL);
    world.submit(LARGE);
    expect(runStream(world, 10_000)).toBeLessThanOrEqual(1000 + 4 * 50);
  });

  it.each([
    { blocker: 'has just come', memoryMb: 1, group: undefined },
    { blocker: 'is of a paused group', memoryMb: 1, group: 'paused' },
    { blocker: 'needs more than a lowered limit', memoryMb: 900, group: undefined },
  ])('sees one that has waited behind another that needs as much and $blocker', ({ memoryMb, group }) => {
    const world = new World({ reserveAfterMs: 1000, limits: { cpu: 4, memoryMb: 1000 } });
    const small = { resources: { cpu: 1, memoryMb: 1 } };
    const submitBlocker = () =>
      world.submit({
        toolName: 'blocker',
        priority: 'critical',
        resources: { cpu: 4, memoryMb },
        ...(group !== undefined && { group }),
      });
    for (let index = 0; index < 4; index++) world.submit(small);
    let blocker = submitBlocker();
    if (group !== undefined) world.pause(blocker.demand.group);
    world.limit({ memoryMb: 500 });
    const large = world.submit({ toolName: 'large', resources: { cpu: 4, memoryMb: 1 } });
    while (large.statusName === 'queued' && world.now < 10_000) {
      world.advance(50);
      world.succeed(world.attempts[0]!.execution);
      world.submit(small);
      if (memoryMb > 1 || group !== undefined) continue;
      world.cancel(blocker);
      blocker = submitBlocker();
    }
    expect(large.statusName).toBe('running');
    expect(large.startedAt).toBeLessThanOrEqual(1000 + 5 * 50);
  });

  it.each([[['first', 'second', 'impossible']], [['first', 'impossible', 'second']]])(
    'reaches the most urgent of those that need as much and can use it (%s)',
    (order) => {
      const world = new World({ reserveAfterMs: 1000, limits: { cpu: 4, memoryMb: 1000 } });
      const running = [0, 1].map(() => world.submit({ resources: { cpu: 1, memoryMb: 0 } }));
      const drafts: Record<string, Draft> = {
        impossible: { priority: 'critical', resources: { cpu: 4, memoryMb: 900 } },
        first: { priority: 'high', resources: { cpu: 4, memoryMb: 1 } },
        second: { priority: 'low', resources: { cpu: 4, memoryMb: 2 } },
      };
      for (const id of order) world.submit({ id, ...drafts[id] });
      world.limit({ memoryMb: 500 });
      world.advance(1000);
      world.succeed(running[0]!);
      expect(world.scheduler.dispatcher.reserved?.id).toBe('first');
    },
  );

  it('lets small ones pass as long as the time to reserve has not come', () => {
    const world = new World({ reserveAfterMs: 5000, limits: { cpu: 4 } });
    for (let index = 0; index < 4; index++) world.submit(SMALL);
    world.submit(LARGE);
    expect(runStream(world, 5000)).toBeUndefined();
    expect(world.started.length).toBeGreaterThan(90);
  });

  it('holds back only what would delay the large one', () => {
    const world = new World({ reserveAfterMs: 0, limits: { cpu: 4, memoryMb: 1000 } });
    world.submit(SMALL);
    world.submit(LARGE);
    world.submit({ ...SMALL, id: 'delays' });
    world.submit({ id: 'harmless', resources: { cpu: 0, memoryMb: 10 } });
    expect(world.running).toEqual(['exec-1', 'harmless']);
  });

  const rate = { count: 9, perMs: 1000 };
  it.each<[what: string, other: Draft, limits: SchedulerLimits, starts: boolean]>([
    ['takes the last place of its tool', { toolName: 't' }, { tools: { t: { maxConcurrency: 1 } } }, false],
    ['leaves a place of its tool', { toolName: 't' }, { tools: { t: { maxConcurrency: 2 } } }, true],
    ['is of another tool', { toolName: 'u' }, { tools: { u: { maxConcurrency: 1 } } }, true],
    ['counts for the rate of its tool', { toolName: 't' }, { tools: { t: { rate } } }, false],
    ['takes the last place of its group', { group: 'g' }, { groups: { g: { maxConcurrency: 1 } } }, false],
    ['leaves a place of its group', { group: 'g' }, { groups: { g: { maxConcurrency: 2 } } }, true],
    ['is of another group', { group: 'h' }, { groups: { h: { maxConcurrency: 1 } } }, true],
    ['counts for the rate of its group', { group: 'g' }, { groups: { g: { rate } } }, false],
    ['conflicts with it', { conflictsWith: ['t'] }, {}, false],
    ['is of a tool with which it conflicts', { toolName: 'foe' }, {}, false],
    ['shares a lock that it shares', { resources: { cpu: 0, shared: ['read'] } }, {}, true],
    ['takes a lock alone that it shares', { resources: { cpu: 0, exclusive: ['read'] } }, {}, false],
    ['shares a lock that it takes alone', { resources: { cpu: 0, shared: ['write'] } }, {}, false],
    ['takes another lock', { resources: { cpu: 0, exclusive: ['other'] } }, {}, true],
    ['leaves as much as it needs', { resources: { cpu: 0, memoryMb: 400 } }, {}, true],
    ['leaves less than it needs', { resources: { cpu: 0, memoryMb: 401 } }, {}, false],
  ])('tells whether one could delay it that %s', (_, other, limits, starts) => {
    const world = new World({ reserveAfterMs: 0, limits: { cpu: 4, memoryMb: 1000, ...limits } });
    world.submit({ resources: { cpu: 1, memoryMb: 0 } });
    world.submit({
      toolName: 't',
      group: 'g',
      resources: { cpu: 4, memoryMb: 600, shared: ['read'], exclusive: ['write'] },
      conflictsWith: ['foe'],
    });
    world.submit({ id: 'other', resources: { cpu: 0, memoryMb: 0 }, ...other });
    expect(world.find('other').statusName).toBe(starts ? 'running' : 'queued');
  });

  it('does not go beyond the number of slots for it', () => {
    const world = new World({ reserveAfterMs: 0, limits: { concurrency: 2, cpu: 4 }, advancesAlone: false });
    const parents = [0, 1].map(() => world.submit({ resources: { cpu: 0 } }));
    world.advance();
    for (const parent of parents) world.lend(parent);
    const small = world.submit(SMALL);
    const large = world.submit(LARGE);
    world.advance();
    expect(world.scheduler.dispatcher.reserved).toBe(large);
    world.succeed(small);
    for (const parent of parents) world.reclaim(parent);
    world.advance();
    expect(large.statusName).toBe('queued');
  });

  it('lets others in again as soon as there is room for both', () => {
    const world = new World({ reserveAfterMs: 0, limits: { cpu: 4, memoryMb: 1000 } });
    const cpu = world.submit({ resources: { cpu: 3, memoryMb: 0 } });
    const memory = world.submit({ resources: { cpu: 0, memoryMb: 600 } });
    world.submit({ id: 'large', resources: { cpu: 4, memoryMb: 300 } });
    world.submit({ id: 'small', resources: { cpu: 0, memoryMb: 200 } });
    expect(world.running).toEqual([cpu.id, memory.id]);
    world.succeed(memory);
    expect(world.running).toEqual([cpu.id, 'small']);
  });

  it('keeps locks free too, for one that needs several', () => {
    const world = new World({ reserveAfterMs: 0 });
    const a = world.submit({ resources: { exclusive: ['a'] } });
    const b = world.submit({ resources: { exclusive: ['b'] } });
    world.submit({ id: 'both', resources: { exclusive: ['a', 'b'] } });
    world.submit({ id: 'next', resources: { exclusive: ['a'] } });
    world.succeed(a);
    expect(world.running).toEqual([b.id]);
    world.succeed(b);
    expect(world.running).toEqual(['both']);
  });

  it('gives the room to a more urgent one, which starts at once if only the reservation kept it out', () => {
    const world = new World({
      reserveAfterMs: 0,
      limits: { concurrency: 2, tools: { t: { maxConcurrency: 1 } } },
    });
    world.submit({ id: 'first', toolName: 't' });
    world.submit({ id: 'second', toolName: 't' });
    world.submit({ id: 'urgent', priority: 'critical' });
    expect(world.running).toEqual(['first', 'urgent']);
  });

  it('ends with the one for whom the room was kept', () => {
    const world = new World({ reserveAfterMs: 0, limits: { cpu: 4 } });
    world.submit(SMALL);
    const large = world.submit(LARGE);
    world.submit({ ...SMALL, id: 'small' });
    expect(world.running).toEqual(['exec-1']);
    world.cancel(large);
    expect(world.running).toEqual(['exec-1', 'small']);
  });

  it('is given up when limits no longer allow it, and when its group is paused', () => {
    for (const hinder of [
      (world: World) => world.limit({ cpu: 3 }),
      (world: World) => world.pause(world.scheduler.catalog.groups.get('g')),
    ]) {
      const world = new World({ reserveAfterMs: 0, limits: { cpu: 4 } });
      world.submit(SMALL);
      world.submit({ ...LARGE, group: 'g' });
      world.submit({ ...SMALL, id: 'small' });
      hinder(world);
      expect(world.running).toEqual(['exec-1', 'small']);
      world.limit({ cpu: 4 });
      world.resume(world.scheduler.catalog.groups.get('g'));
      world.succeed(world.find('exec-1'));
      world.succeed(world.find('small'));
      expect(world.running).toEqual(['large']);
    }
  });

  it('lets others in again as soon as their group has room for both', () => {
    const world = new World({ reserveAfterMs: 0, limits: { cpu: 4 } });
    const drafts = [SMALL, LARGE, { id: 'small', resources: { cpu: 0 } }];
    world.submitAll(drafts, { name: 'g', maxConcurrency: 2 });
    expect(world.running).toEqual(['exec-1']);
    world.submitAll([], { name: 'g', maxConcurrency: 3 });
    expect(world.running).toEqual(['exec-1', 'small']);
  });

  it('reaches one that others declare a conflict with, though one of them always runs', () => {
    const world = new World({ reserveAfterMs: 1000 });
    const stream = { toolName: 'stream', conflictsWith: ['victim'] };
    for (let index = 0; index < 3; index++) world.submit(stream);
    const victim = world.submit({ toolName: 'victim' });
    while (victim.statusName === 'queued' && world.now < 10_000) {
      world.advance(50);
      world.succeed(world.attempts[0]!.execution);
      world.submit(stream);
    }
    expect(victim.startedAt).toBeLessThanOrEqual(1000 + 4 * 50);
  });

  it('is not made for one that a more urgent one waits before at a lock', () => {
    const world = new World({ reserveAfterMs: 0 });
    const stream = { toolName: 'stream', conflictsWith: ['stream'], resources: { exclusive: ['db'] } };
    for (let index = 0; index < 2; index++) world.submit(stream);
    const reader = world.submit({ resources: { shared: ['db'] } });
    for (let count = 0; count < 2; count++) {
      world.advance(10);
      world.submit(stream);
      world.succeed(world.attempts[0]!.execution);
    }
    expect(reader.statusName).toBe('running');
  });
});
