import { describe, expect, it } from 'vitest';
import { type Random, seededRandom } from '../../src/core/random.ts';
import { lognormalMs } from './support/coverage.ts';
import { VirtualScheduler, type Work } from './support/virtual-scheduler.ts';
import { World } from './support/world.ts';

const UNITS_MS = [1, 1000, 10_000, 600_000];
const NO_TIMEOUT = { timeoutMs: Number.POSITIVE_INFINITY };

/** Graphs of tools whose medians lie far apart, in no special order. */
function randomGraph(random: Random, count: number, tools: number, unitMs: number): Work[] {
  const medians = Array.from({ length: tools }, () => lognormalMs(random, 100 * unitMs, 1.5));
  return Array.from({ length: count }, (_, index) => {
    const tool = Math.floor(random() * tools);
    const dependsOn = new Set<string>();
    for (let edge = Math.floor(random() * 3); edge > 0 && index > 0; edge--)
      dependsOn.add(`n${Math.max(0, index - 1 - Math.floor(random() * 25))}`);
    const durationMs = lognormalMs(random, medians[tool]!, 0.1);
    return { id: `n${index}`, toolName: `t${tool}`, durationMs, dependsOn: [...dependsOn], ...NO_TIMEOUT };
  });
}

type Knowledge = 'all' | 'half' | 'none';

/** The mean makespan over what no schedule can be shorter than, if tools have run before or not. */
function meanOverBound(knowledge: Knowledge, unitMs: number, count = 100, tools = 10, graphs = 20): number {
  const slots = 6;
  let sum = 0;
  for (let seed = 1; seed <= graphs; seed++) {
    const graph = randomGraph(seededRandom(seed * 7919), count, tools, unitMs);
    const isKnown = ({ toolName }: Work) =>
      knowledge === 'all' || (knowledge === 'half' && Number(toolName.slice(1)) % 2 === 0);
    const virtual = new VirtualScheduler({ limits: { concurrency: slots } });
    virtual.submitAll(graph.filter(isKnown).map(({ id, dependsOn, ...work }) => work));
    const begin = virtual.run();
    virtual.submitAll(graph);
    sum += (virtual.run() - begin) / boundOf(graph, slots);
  }
  return sum / graphs;
}

function boundOf(graph: readonly Work[], slots: number): number {
  const ends = new Map<string, number>();
  let work = 0;
  for (const { id, durationMs, dependsOn = [] } of graph) {
    ends.set(id!, durationMs + Math.max(0, ...dependsOn.map((other) => ends.get(other as string)!)));
    work += durationMs;
  }
  return Math.max(work / slots, ...ends.values());
}

describe.each(UNITS_MS)('the order of tools of which nothing is known, in units of %i ms', (unitMs) => {
  it('puts a chain of known calls before a single new one, and a new one before a single known one', () => {
    const world = new World({ limits: { concurrency: 1 } });
    const known = world.submit({ toolName: 'known', ...NO_TIMEOUT });
    world.advance(100 * unitMs);
    world.succeed(known);
    world.submit({ id: 'blocker', toolName: 'known' });
    world.submitAll([
      { id: 'single', toolName: 'known' },
      { id: 'new', toolName: 'new' },
      { id: 'chain', toolName: 'known' },
      { toolName: 'known', dependsOn: ['chain'] },
    ]);
    for (const id of ['blocker', 'chain', 'new']) world.succeed(world.find(id));
    expect(world.started.slice(1)).toEqual(['blocker', 'chain', 'new', expect.any(String)]);
  });

  it('guesses from what callers estimate while no tool has run', () => {
    const world = new World({ limits: { concurrency: 1 } });
    world.submit({ id: 'blocker' });
    world.submitAll([
      { id: 'new', toolName: 'new' },
      { id: 'short', toolName: 'a', estimatedMs: unitMs },
      { id: 'long', toolName: 'b', estimatedMs: 100 * unitMs },
    ]);
    // Nothing is learned from what fails.
    for (const id of ['blocker', 'long', 'new']) world.fail(world.find(id));
    expect(world.started.slice(1)).toEqual(['long', 'new', 'short']);
  });

  it('is better with half of the tools known than with none', () => {
    const half = meanOverBound('half', unitMs);
    expect(half).toBeLessThan(meanOverBound('none', unitMs));
    expect(half).toBeLessThan(1.04);
  });
});

describe.each(UNITS_MS)('what a running group teaches, in units of %i ms', (unitMs) => {
  it('changes the order of what is left of the group', () => {
    const world = new World({ limits: { concurrency: 1 } });
    const drafts = Array.from({ length: 4 }, (_, index) => [
      { id: `short ${index}`, toolName: 'short', ...NO_TIMEOUT },
      { id: `long ${index}`, toolName: 'long', ...NO_TIMEOUT },
    ]).flat();
    world.submitAll(drafts);
    while (world.attempts.length > 0) {
      const { execution } = world.attempts[0]!;
      world.advance(unitMs * (execution.demand.tool.name === 'long' ? 100 : 10));
      world.succeed(execution);
    }
    const order = world.started.map((id) => id.split(' ')[0]);
    expect(order).toEqual(['short', ...Array(4).fill('long'), ...Array(3).fill('short')]);
  });

  it('reaches through dependencies, in whatever order they were submitted', () => {
    const world = new World({ limits: { concurrency: 1 } });
    world.submitAll([
      { id: 'end of short', toolName: 'short', dependsOn: ['short'] },
      { id: 'short', toolName: 'step' },
      { id: 'long', toolName: 'step' },
      { id: 'end of long', toolName: 'long', dependsOn: ['long'], ...NO_TIMEOUT },
      { id: 'probe', toolName: 'long', priority: 'critical', ...NO_TIMEOUT },
      { id: 'other probe', toolName: 'short', priority: 'critical', ...NO_TIMEOUT },
    ]);
    for (const id of ['probe', 'other probe']) {
      world.advance(unitMs * (id === 'probe' ? 100 : 10));
      world.succeed(world.find(id));
    }
    expect(world.running).toEqual(['long']);
  });

  it('makes graphs of unknown tools nearly as short as graphs of known ones', () => {
    const all = meanOverBound('all', unitMs, 1000, 20, 3);
    const none = meanOverBound('none', unitMs, 1000, 20, 3);
    expect(none).toBeLessThan(1.01 * all);
  });
});

describe('the cost of renewed paths', () => {
  it('is bounded for each execution that ends, and nothing for a large group', () => {
    let visits = 0;
    const count = 4000;
    const virtual = new VirtualScheduler({ limits: { concurrency: 8 } });
    const { lifecycle } = virtual.scheduler;
    const renew = lifecycle.renewPaths.bind(lifecycle);
    lifecycle.renewPaths = (group) => {
      visits += group.unsettled;
      renew(group);
    };
    const random = seededRandom(5);
    // Every tool gets slower and slower, so that estimates never settle.
    const works = (length: number) =>
      Array.from({ length }, (_, index) => ({
        toolName: `t${index % 7}`,
        durationMs: Math.ceil(1.01 ** (index % 1500) * (1 + random())),
        ...NO_TIMEOUT,
      }));
    virtual.submitAll(works(count));
    virtual.run();
    expect(visits).toBeGreaterThan(count);
    expect(visits).toBeLessThan(40 * count);
    visits = 0;
    virtual.submitAll(works(10_100).map((work) => ({ ...work, toolName: `other ${work.toolName}` })));
    virtual.run(count + 50);
    expect(visits).toBe(0);
  });
});
