import { describe, expect, it } from 'vitest';
import { VirtualScheduler } from './support/virtual-scheduler.ts';
import { World } from './support/world.ts';

/** How many classes a dispatcher looked at while it ran one execution of each tool after the other. */
function looksFor(tools: number, limits: object, group?: object): number {
  const virtual = new VirtualScheduler({ limits });
  const { dispatcher } = virtual.scheduler;
  const obstacle = dispatcher.obstacle.bind(dispatcher);
  let looks = 0;
  dispatcher.obstacle = (...asked) => {
    looks++;
    return obstacle(...asked);
  };
  const works = Array.from({ length: tools * 3 }, (_, index) => ({
    toolName: `tool-${index % tools}`,
    durationMs: 10,
    resources: { cpu: 1 },
  }));
  virtual.submitAll(works, group);
  virtual.run();
  expect(virtual.settledCount).toBe(works.length);
  return looks / works.length;
}

describe('classes that are kept out alike', () => {
  it('are looked at one after the other when a resource comes back, however many they are', () => {
    expect(looksFor(200, { cpu: 1 })).toBeLessThan(looksFor(10, { cpu: 1 }) + 2);
  });

  it('are looked at one after the other when a place of their group comes free', () => {
    const group = { maxConcurrency: 1 };
    expect(looksFor(200, {}, group)).toBeLessThan(looksFor(10, {}, group) + 2);
  });

  it.each([
    ['critical', 'normal', 'large'],
    ['normal', 'critical', 'small'],
  ] as const)(
    'start in the order of their ranks (%s, %s) when they may pass again',
    (large, small, first) => {
      const world = new World({ limits: { concurrency: 2, cpu: 4 } });
      const blocker = world.submit({ resources: { cpu: 4 } });
      world.submit({ id: 'large', priority: large, resources: { cpu: 4 } });
      world.submit({ resources: { cpu: 0 } });
      world.submit({ id: 'small', priority: small, resources: { cpu: 0 } });
      world.succeed(blocker);
      expect(world.started.at(-1)).toBe(first);
    },
  );

  it.each([
    [2, 3],
    [3, 2],
  ])('start in the order of their submission where they are as urgent (%d before %d)', (one, other) => {
    const world = new World({ limits: { cpu: 4 } });
    const blocker = world.submit({ resources: { cpu: 4 } });
    for (const cpu of [one, other]) world.submit({ id: `${cpu}`, resources: { cpu } });
    world.succeed(blocker);
    expect(world.started.at(-1)).toBe(`${one}`);
  });

  it('start when they fit though each needs another amount, and amounts come and go', () => {
    const virtual = new VirtualScheduler({ limits: { memoryMb: 1000 } });
    for (let round = 0; round < 5; round++) {
      const works = Array.from({ length: 50 }, (_, index) => ({
        toolName: 'tool',
        durationMs: 10,
        resources: { memoryMb: 501 + 50 * round + index },
      }));
      virtual.submitAll(works);
      virtual.run();
      expect(virtual.settledCount).toBe(50 * (round + 1));
    }
    const memory = virtual.scheduler.dispatcher.contest.shortages[2]!;
    expect(memory.queues.size).toBeLessThanOrEqual(2 * 50);
  });
});
