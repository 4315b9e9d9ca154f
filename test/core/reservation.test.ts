import { describe, expect, it } from 'vitest';
import { toExecutions, toLimits } from '../../bench/schedules/executions.ts';
import { makeInstances } from '../../bench/schedules/instances.ts';
import type { SchedulerLimits } from '../../src/core/scheduler-options.ts';
import { simulate } from '../../src/core/simulate.ts';
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

/** Durations in tests of the order are multiples of these: what is right must be right at any of them. */
const UNITS_MS = [1, 1000, 10_000, 600_000];

describe.each(UNITS_MS)('the order under a reservation, in units of %i ms', (unitMs) => {
  /** Two run that end after 6 and 7 units; `first` and `second` need all of the room. */
  function makeWorld(first: Draft, second: Draft): World {
    const world = new World({ limits: { cpu: 4 } });
    const half = { resources: { cpu: 2 }, timeoutMs: Number.POSITIVE_INFINITY };
    const running = [0, 1].map(() => world.submit(half));
    world.submit({ id: 'first', toolName: 'a', resources: { cpu: 4 }, ...first });
    world.advance(5.5 * unitMs);
    world.submit({ id: 'second', toolName: 'b', resources: { cpu: 4 }, ...second });
    for (const execution of running) {
      world.advance(unitMs);
      world.succeed(execution);
    }
    return world;
  }

  it('puts a higher priority before a lower one that has waited longer', () => {
    // One step is longer than what happens here, or waiting would rightly win.
    const world = makeWorld({ priority: 'background' }, { priority: 'critical' });
    expect(world.running).toEqual([7.5 * unitMs < 4 * 30_000 ? 'second' : 'first']);
  });

  it('puts a longer path before a shorter one that has waited longer', () => {
    const world = new World({ ageingMs: 100 * unitMs, limits: { cpu: 4 } });
    const half = { estimatedMs: unitMs, resources: { cpu: 2 }, timeoutMs: Number.POSITIVE_INFINITY };
    const running = [0, 1].map(() => world.submit(half));
    const whole = { resources: { cpu: 4 } };
    world.submitAll([
      { ...whole, id: 'short', toolName: 'a', estimatedMs: unitMs },
      { ...whole, id: 'long', toolName: 'b', estimatedMs: unitMs, dependsOn: [running[0]!] },
      { id: 'behind', estimatedMs: 50 * unitMs, dependsOn: ['long'] },
    ]);
    for (const execution of running) {
      world.advance(6 * unitMs);
      world.succeed(execution);
    }
    expect(world.running).toEqual(['long']);
  });

  it('lets pass what by estimate ends before the reserved one can start, and nothing longer', () => {
    const world = new World({ reserveAfterMs: 0, limits: { cpu: 4 } });
    const first = world.submit({ resources: { cpu: 3 }, estimatedMs: 10 * unitMs, timeoutMs: 1e9 });
    // Its path is the longest, so it goes first.
    world.submit({ id: 'large', resources: { cpu: 4 }, estimatedMs: 1e9 });
    world.advance(4 * unitMs);
    world.submit({ id: 'unknown', toolName: 'unknown', ...SMALL });
    world.submit({ id: 'too long', toolName: 'b', ...SMALL, estimatedMs: 6 * unitMs + 1 });
    expect(world.running).toEqual([first.id]);
    world.submit({ id: 'in time', toolName: 'c', ...SMALL, estimatedMs: 6 * unitMs });
    expect(world.running).toEqual([first.id, 'in time']);
  });

  it('lets nothing pass once those it waits for take longer than estimated', () => {
    const world = new World({ reserveAfterMs: 0, limits: { cpu: 4 } });
    const first = world.submit({ resources: { cpu: 3 }, estimatedMs: unitMs, timeoutMs: 1e9 });
    world.submit({ id: 'large', resources: { cpu: 4 }, estimatedMs: 1e9 });
    world.advance(unitMs);
    world.submit({ ...SMALL, id: 'small', estimatedMs: 1 });
    expect(world.running).toEqual([first.id]);
  });

  it('ends projects about as soon as at units so short that nothing is ever reserved', () => {
    const instances = makeInstances('projects', 30, 48);
    const meanOf = (unit: number) =>
      instances.reduce((sum, instance) => {
        const { makespanMs } = simulate(toExecutions(instance, unit), toLimits(instance), { plan: 'off' });
        return sum + makespanMs / unit / instance.bound / instances.length;
      }, 0);
    expect(meanOf(unitMs)).toBeLessThan(1.01 * meanOf(1));
  });
});

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

  it('keeps room for one that has waited, which a more urgent one that has just come takes first', () => {
    const world = new World({ reserveAfterMs: 1000, limits: { cpu: 4 } });
    for (let index = 0; index < 4; index++) world.submit(SMALL);
    const large = world.submit({ ...LARGE, toolName: 'large' });
    const urgent = { toolName: 'urgent', priority: 'critical', resources: { cpu: 4 } } as const;
    let last = world.submit(urgent);
    while (last.statusName === 'queued' && world.now < 10_000) {
      world.advance(50);
      world.cancel(last);
      last = world.submit(urgent);
      world.succeed(world.attempts[0]!.execution);
      world.submit(SMALL);
    }
    expect(last.startedAt).toBeLessThanOrEqual(1000 + 5 * 50);
    expect(large.statusName).toBe('queued');
    world.succeed(last);
    expect(large.statusName).toBe('running');
  });

  it.each([
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
    const blocker = submitBlocker();
    if (group !== undefined) world.pause(blocker.demand.group);
    world.limit({ memoryMb: 500 });
    const large = world.submit({ toolName: 'large', resources: { cpu: 4, memoryMb: 1 } });
    while (large.statusName === 'queued' && world.now < 10_000) {
      world.advance(50);
      world.succeed(world.attempts[0]!.execution);
      world.submit(small);
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
    const cpu = world.submit({ estimatedMs: 1000, resources: { cpu: 3, memoryMb: 0 } });
    const memory = world.submit({ estimatedMs: 5000, resources: { cpu: 0, memoryMb: 600 } });
    world.submit({ id: 'large', estimatedMs: 5000, resources: { cpu: 4, memoryMb: 300 } });
    world.submit({ id: 'small', estimatedMs: 5000, resources: { cpu: 0, memoryMb: 200 } });
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
    world.submit({ ...SMALL, estimatedMs: 1000 });
    const long = { estimatedMs: 5000, resources: { cpu: 0 } };
    const drafts = [
      { ...long, id: 'long' },
      { ...LARGE, estimatedMs: 9000 },
      { ...long, id: 'small' },
    ];
    world.submitAll(drafts, { name: 'g', maxConcurrency: 2 });
    expect(world.running).toEqual(['exec-1', 'long']);
    world.submitAll([], { name: 'g', maxConcurrency: 3 });
    expect(world.running).toEqual(['exec-1', 'long', 'small']);
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
    const stream = {
      toolName: 'stream',
      estimatedMs: 10,
      conflictsWith: ['stream'],
      resources: { exclusive: ['db'] },
    };
    for (let index = 0; index < 2; index++) world.submit(stream);
    const reader = world.submit({ estimatedMs: 10, resources: { shared: ['db'] } });
    for (let count = 0; count < 2; count++) {
      world.advance(10);
      world.submit(stream);
      world.succeed(world.attempts[0]!.execution);
    }
    expect(reader.statusName).toBe('running');
  });
});
