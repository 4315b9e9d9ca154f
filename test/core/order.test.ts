import { describe, expect, it } from 'vitest';
import { type Random, seededRandom } from '../../src/core/random.ts';
import { lognormalMs } from './support/coverage.ts';
import { VirtualScheduler, type Work } from './support/virtual-scheduler.ts';

const MEDIANS_MS = [20, 60, 200, 600, 2000];
const GRAPHS = 60;

/** Executions of five tools. The longest is a hundred times the shortest. */
function works(random: Random, count: number, slowness: number): Work[] {
  return Array.from({ length: count }, (_, index) => {
    const tool = Math.floor(random() * MEDIANS_MS.length);
    const durationMs = slowness * lognormalMs(random, MEDIANS_MS[tool]!, 0.3);
    return { id: `n${index}`, toolName: `tool-${tool}`, durationMs, timeoutMs: Number.POSITIVE_INFINITY };
  });
}

/** Each execution may depend on any before it, on one and a half of them on average, but they come in no special order. */
function randomGraph(random: Random, count: number, slowness: number): Work[] {
  const linked = works(random, count, slowness).map((work, index) => {
    const dependsOn: string[] = [];
    for (let other = 0; other < index; other++) if (random() < 3 / count) dependsOn.push(`n${other}`);
    return { ...work, dependsOn };
  });
  return linked
    .map((work) => ({ work, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ work }) => work);
}

/** The makespan of a graph with the scheduler's own order, after it has seen what the tools take. */
function learnedOrder(graph: readonly Work[], seen: readonly Work[], slots: number): number {
  const virtual = new VirtualScheduler({ limits: { concurrency: slots } });
  virtual.submitAll(seen.map(({ id, ...work }) => work));
  const begin = virtual.run();
  virtual.submitAll(graph);
  return virtual.run() - begin;
}

/** A plain queue: of what is ready, what became so first goes first, or what was submitted first. */
function firstCome(graph: readonly Work[], slots: number, by: 'readiness' | 'submission'): number {
  const open = new Map(graph.map((work) => [work, new Set(work.dependsOn)]));
  const ready = graph.filter((work) => work.dependsOn!.length === 0);
  const running: { work: Work; endMs: number }[] = [];
  let now = 0;
  while (ready.length > 0 || running.length > 0) {
    if (by === 'submission') ready.sort((a, b) => graph.indexOf(a) - graph.indexOf(b));
    while (ready.length > 0 && running.length < slots) {
      const work = ready.shift()!;
      running.push({ work, endMs: now + work.durationMs });
    }
    running.sort((a, b) => a.endMs - b.endMs);
    const { work: done, endMs } = running.shift()!;
    now = endMs;
    for (const [work, waitsFor] of open)
      if (waitsFor.delete(done.id!) && waitsFor.size === 0) ready.push(work);
  }
  return now;
}

function meanMakespans(
  count: number,
  slots: number,
  slowness: number,
): { learned: number; firstSubmitted: number; firstReady: number } {
  const sums = { learned: 0, firstSubmitted: 0, firstReady: 0 };
  for (let seed = 1; seed <= GRAPHS; seed++) {
    const random = seededRandom(seed * 7919);
    const graph = randomGraph(random, count, slowness);
    sums.learned += learnedOrder(graph, works(random, 150, slowness), slots);
    sums.firstSubmitted += firstCome(graph, slots, 'submission');
    sums.firstReady += firstCome(graph, slots, 'readiness');
  }
  return sums;
}

describe('the learned order', () => {
  it.each([
    { count: 30, slots: 3, slowness: 1 },
    { count: 60, slots: 4, slowness: 1 },
    { count: 120, slots: 8, slowness: 1 },
    { count: 60, slots: 4, slowness: 1000 },
  ])(
    'ends random graphs of $count at least 10 % earlier than first come on $slots slots, if durations are × $slowness',
    (shape) => {
      const { learned, firstSubmitted, firstReady } = meanMakespans(shape.count, shape.slots, shape.slowness);
      expect(learned).toBeLessThanOrEqual(0.9 * firstSubmitted);
      expect(learned).toBeLessThanOrEqual(0.9 * firstReady);
    },
  );
});
