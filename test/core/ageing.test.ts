import { describe, expect, it } from 'vitest';
import type { Execution } from '../../src/core/execution.ts';
import { PRIORITIES } from '../../src/core/priority.ts';
import { World } from './support/world.ts';

const AGEING_MS = 1000;
const WORK_MS = 100;

/** Keeps critical work waiting, replaces whatever ends, and tells when the given execution has started. */
function startUnderStream(world: World, slots: number, victim: Execution): number {
  for (let index = 0; index < slots + 3; index++) world.submit({ priority: 'critical' });
  while (victim.statusName === 'queued' && world.now < 20 * AGEING_MS) {
    world.advance(WORK_MS);
    for (const { execution } of [...world.attempts]) {
      if (world.now - execution.startedAt < WORK_MS) continue;
      world.succeed(execution);
      world.submit({ priority: 'critical' });
    }
  }
  return victim.startedAt;
}

describe('ageing', () => {
  it.each([1, 2, 5])(
    'starts background within five steps under an endless stream of critical, %i slots',
    (slots) => {
      const world = new World({ ageingMs: AGEING_MS, retainSettled: 0, limits: { concurrency: slots } });
      for (let index = 0; index < slots; index++) world.submit({ priority: 'critical' });
      const background = world.submit({ priority: 'background' });
      const startedAt = startUnderStream(world, slots, background);
      expect(background.statusName).toBe('running');
      // The bound, and the time until a slot frees.
      expect(startedAt).toBeLessThanOrEqual(5 * AGEING_MS + WORK_MS);
      // It was late, though: priority is worth something.
      expect(startedAt).toBeGreaterThan(2 * AGEING_MS);
    },
  );

  it('holds the same bound for background that needs a lock which the stream shares', () => {
    const world = new World({ ageingMs: AGEING_MS, retainSettled: 0, limits: { concurrency: 3 } });
    const shared = { priority: 'critical', resources: { shared: ['db'] } } as const;
    for (let index = 0; index < 6; index++) world.submit(shared);
    const background = world.submit({ priority: 'background', resources: { exclusive: ['db'] } });
    while (background.statusName === 'queued' && world.now < 20 * AGEING_MS) {
      world.advance(WORK_MS / 3);
      // One ends at a time, so the lock is never free by chance.
      world.succeed(world.attempts[0]!.execution);
      world.submit(shared);
    }
    expect(background.startedAt).toBeLessThanOrEqual(5 * AGEING_MS + WORK_MS);
  });

  it('puts a higher priority first among what is submitted together', () => {
    const world = new World({ limits: { concurrency: 1 } });
    const blocker = world.submit({ id: 'blocker' });
    for (const priority of [...PRIORITIES].reverse()) world.submit({ id: priority, priority });
    world.succeed(blocker);
    for (const priority of PRIORITIES) world.succeed(world.find(priority));
    expect(world.started.slice(1)).toEqual(PRIORITIES);
  });

  it('puts what came first first within a priority', () => {
    const world = new World({ limits: { concurrency: 1 } });
    world.submitAll([{ id: 'a' }, { id: 'b' }, { id: 'c' }]);
    for (const id of ['a', 'b', 'c']) world.succeed(world.find(id));
    expect(world.started).toEqual(['a', 'b', 'c']);
  });

  it('puts the longer path first within a priority, however long, and never before a higher one', () => {
    const world = new World({ ageingMs: AGEING_MS, limits: { concurrency: 1 } });
    world.submit({ id: 'blocker' });
    const spans = [1, 400, 999, 1001, 3000, 100_000];
    for (const estimatedMs of spans) world.submit({ id: `${estimatedMs}`, estimatedMs });
    world.submit({ id: 'high', priority: 'high', estimatedMs: 1 });
    const order = ['blocker', 'high', ...spans.reverse().map(String)];
    for (const id of order) world.succeed(world.find(id));
    expect(world.started).toEqual(order);
  });

  it.each([1, 1000, 10_000, 600_000])(
    'tells long paths apart that differ by a thousandth, submitted together, in units of %i ms',
    (unitMs) => {
      const world = new World({ limits: { concurrency: 1 } });
      world.submit({ id: 'blocker' });
      const lengths = [1000, 1001, 2000, 2002, 3000, 3003];
      const chains = lengths.flatMap((length) => {
        const half = { estimatedMs: (length / 2) * unitMs };
        return [
          { ...half, id: `${length}` },
          { ...half, dependsOn: [`${length}`] },
        ];
      });
      world.submitAll(chains);
      world.succeed(world.find('blocker'));
      for (const length of [...lengths].reverse()) {
        expect(world.running).toEqual([`${length}`]);
        world.cancel(world.find(`${length}`));
        world.advance(5000);
      }
    },
  );

  it('counts the longest of all that waits behind to the path, also where it comes later', () => {
    const world = new World({ limits: { concurrency: 1 } });
    world.submit({ id: 'blocker' });
    world.submit({ id: 'alone', estimatedMs: 500 });
    world.submit({ id: 'base', estimatedMs: 1 });
    world.submit({ id: 'middle', estimatedMs: 1, dependsOn: ['base'] });
    for (const estimatedMs of [600, 1]) world.submit({ estimatedMs, dependsOn: ['middle'] });
    world.succeed(world.find('blocker'));
    expect(world.running).toEqual(['base']);
  });

  it('lets one step of waiting make up for one priority', () => {
    const world = new World({ ageingMs: AGEING_MS, limits: { concurrency: 1 } });
    const blocker = world.submit({ id: 'blocker' });
    world.submit({ id: 'old', priority: 'normal' });
    world.advance(AGEING_MS + 1);
    world.submit({ id: 'young', priority: 'high' });
    world.succeed(blocker);
    expect(world.running).toEqual(['old']);
  });
});

describe('priority inheritance', () => {
  it('makes urgent what an urgent execution waits for, however far', () => {
    const world = new World({ limits: { concurrency: 1 } });
    const blocker = world.submit({ id: 'blocker' });
    world.submit({ id: 'high', priority: 'high' });
    world.submit({ id: 'base', priority: 'background' });
    world.submit({ id: 'middle', priority: 'low', dependsOn: ['base'] });
    world.submit({ id: 'long', priority: 'background', dependsOn: ['middle'], estimatedMs: 100_000 });
    world.submit({ id: 'urgent', priority: 'critical', dependsOn: ['middle'] });
    for (const id of ['blocker', 'base', 'middle', 'urgent']) world.succeed(world.find(id));
    expect(world.started).toEqual(['blocker', 'base', 'middle', 'urgent', 'high']);
    expect(blocker.statusName).toBe('completed');
  });

  it('works inside a group, also forwards', () => {
    const world = new World({ limits: { concurrency: 1 } });
    world.submitAll([
      { id: 'urgent', priority: 'critical', dependsOn: ['base'] },
      { id: 'high', priority: 'high' },
      { id: 'base', priority: 'background' },
    ]);
    world.succeed(world.find('base'));
    expect(world.started).toEqual(['base', 'urgent']);
  });

  it('reaches from inside a group what it waits for outside', () => {
    const world = new World({ limits: { concurrency: 1 } });
    const blocker = world.submit({ id: 'blocker' });
    world.submit({ id: 'high', priority: 'high' });
    world.submit({ id: 'base', priority: 'background' });
    world.submitAll([{ id: 'other' }, { id: 'urgent', priority: 'critical', dependsOn: ['base'] }]);
    world.succeed(blocker);
    expect(world.running).toEqual(['base']);
  });

  it('reaches one that is retrying, for its next attempt', () => {
    const world = new World({ limits: { concurrency: 1 } });
    const base = world.submit({
      id: 'base',
      priority: 'low',
      retry: { maxRetries: 1, delayMs: 10, jitter: 0 },
    });
    world.fail(base);
    const blocker = world.submit({ id: 'blocker' });
    world.submit({ id: 'normal' });
    world.submit({ id: 'urgent', priority: 'critical', dependsOn: ['base'] });
    world.advance(10);
    world.succeed(blocker);
    expect(world.running).toEqual(['base']);
  });

  it('starts one that waits behind another for a lock which is free for it', () => {
    const world = new World();
    world.submit({ id: 'reader', resources: { shared: ['db'] } });
    world.submit({ id: 'writer', resources: { exclusive: ['db'] } });
    world.submit({ id: 'second', priority: 'low', resources: { shared: ['db'] } });
    expect(world.running).toEqual(['reader']);
    world.submit({ id: 'urgent', priority: 'critical', dependsOn: ['second'] });
    expect(world.running).toEqual(['reader', 'second']);
  });
});
