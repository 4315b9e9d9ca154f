import { describe, expect, it } from 'vitest';
import { VirtualScheduler } from './support/virtual-scheduler.ts';

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
