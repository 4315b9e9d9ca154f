import { describe, expect, it } from 'vitest';
import { explain } from '../../src/core/explain.ts';
import { predictRemaining } from '../../src/core/predict.ts';
import { seededRandom } from '../../src/core/random.ts';
import { RESOURCE_TABLE } from '../../src/core/resource-table.ts';
import { simulate } from '../../src/core/simulate.ts';
import { ParallelExecutionEngine } from '../../src/engine/engine.ts';
import { ResourceManager } from '../../src/engine/resource-manager.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { thrownBy as errorOf } from '../engine/support/errors.ts';
import { World } from './support/world.ts';

const NOTHING = { cpu: 0, memoryMb: 0, io: 'none' } as const;

function worldWith(resources: Readonly<Record<string, number>>): World {
  return new World({ limits: { concurrency: 100, resources } });
}

describe('a named resource', () => {
  it('is never used beyond its capacity, and what needs none of it passes', () => {
    const world = worldWith({ gpu: 2, license: 1 });
    const [first, second, third] = [1, 1, 1].map((gpu) => world.submit({ resources: { ...NOTHING, gpu } }));
    const plain = world.submit({ resources: NOTHING });
    expect([first, second, third, plain].map((one) => one!.statusName)).toEqual([
      'running',
      'running',
      'queued',
      'running',
    ]);
    world.succeed(second!);
    expect(third!.statusName).toBe('running');
  });

  it('is counted in parts', () => {
    const world = worldWith({ gpu: 1 });
    const parts = [0.5, 0.5, 0.5].map((gpu) => world.submit({ resources: { gpu } }));
    expect(parts.map(({ statusName }) => statusName)).toEqual(['running', 'running', 'queued']);
    expect(world.scheduler.dispatcher.resources.utilization()).toMatchObject({ gpu: { used: 1, limit: 1 } });
  });

  it('explains what waits for it', () => {
    const world = worldWith({ gpu: 2 });
    world.submit({ resources: { gpu: 2 } });
    const waiting = world.submit({ resources: { gpu: 1 } });
    expect(explain(world.scheduler, waiting, world.now)).toMatchObject({
      reason: 'resource',
      resource: 'gpu',
      needed: 1,
      free: 0,
      limit: 2,
      text: 'needs 1 gpu, 0 of 2 are free',
    });
  });

  it('can be declared, raised and lowered while executions wait', () => {
    const world = worldWith({});
    expect(errorOf(() => world.submit({ resources: { gpu: 1 } }))).toMatchObject({
      code: 'UNKNOWN_RESOURCE',
    });
    const before = world.submit({});
    world.limit({ resources: { gpu: 1 } });
    const [first, second] = [1, 1].map((gpu) => world.submit({ resources: { gpu } }));
    expect([first!.statusName, second!.statusName]).toEqual(['running', 'queued']);
    world.limit({ resources: { gpu: 2 } });
    expect(second!.statusName).toBe('running');
    world.limit({ resources: { gpu: 0 } });
    expect(errorOf(() => world.submit({ resources: { gpu: 1 } }))).toMatchObject({
      code: 'IMPOSSIBLE_DEMAND',
      details: { resource: 'gpu', demand: 1, limit: 0 },
    });
    for (const one of [before, first!, second!]) world.succeed(one);
    expect(world.scheduler.dispatcher.resources.utilization()['gpu']).toEqual({ used: 0, limit: 0 });
  });

  it('is part of a prediction', () => {
    const world = worldWith({ gpu: 1 });
    const done = world.submit({ resources: { gpu: 1 } });
    world.advance(1000);
    world.succeed(done);
    for (let index = 0; index < 4; index++) world.submit({ resources: { gpu: 1 } });
    const left = predictRemaining(world.scheduler, undefined, world.now, seededRandom(1));
    expect(left!.lowMs).toBeGreaterThan(1000);
  });

  it('limits a simulation, which reports its use', () => {
    const jobs = Array.from({ length: 4 }, () => ({
      toolName: 'train',
      durationMs: 10,
      resources: { ...NOTHING, gpu: 1 },
    }));
    const { makespanMs, utilization } = simulate(jobs, { concurrency: 9, resources: { gpu: 2, unused: 1 } });
    expect(makespanMs).toBe(20);
    expect(utilization['gpu']).toEqual({ meanUsed: 2, limit: 2 });
    expect(utilization['unused']).toEqual({ meanUsed: 0, limit: 1 });
  });

  it('is reserved for one that needs much of it', () => {
    const small = Array.from({ length: 20 }, (_, index) => ({
      toolName: 'small',
      durationMs: 100 + index,
      resources: { ...NOTHING, gpu: 1 },
    }));
    const large = { id: 'large', toolName: 'large', durationMs: 10, resources: { ...NOTHING, gpu: 4 } };
    const { schedule } = simulate(
      [...small.slice(0, 4), large, ...small.slice(4)],
      { concurrency: 100, resources: { gpu: 4 } },
      { reserveAfterMs: 50 },
    );
    expect(schedule.find(({ index }) => index === 4)!.startMs).toBeLessThan(250);
  });
});

describe('the name of a resource', () => {
  it.each(['GPU', '1gpu', '', 'g pu', '_gpu', 'g'.repeat(65), '__proto__'])('cannot be %j', (name) => {
    const resources = Object.fromEntries([[name, 1]]);
    expect(errorOf(() => simulate([], { resources }))).toMatchObject({
      code: 'INVALID_VALUE',
      details: { name },
    });
  });

  it.each([
    'cpu',
    'memory_mb',
    'memory-mb',
    'memorymb',
    'memory',
    'io',
    'io_operations',
    'network',
    'concurrency',
    'max_concurrency',
    'exclusive',
    'shared',
  ])('cannot be that of a built-in one: %s', (name) => {
    expect(errorOf(() => simulate([], { resources: { [name]: 1 } }))).toMatchObject({
      code: 'INVALID_VALUE',
    });
  });

  it('can be one that every object has', () => {
    const { utilization } = simulate(
      [
        { toolName: 'a', durationMs: 1, resources: { cpu: 0 } },
        { toolName: 'b', durationMs: 1, resources: { constructor: 1 } as never },
      ],
      { resources: { constructor: 2 } as never },
    );
    expect(Object.entries(utilization)).toContainEqual(['constructor', { meanUsed: 1, limit: 2 }]);
  });

  it('is one of at most 64', () => {
    const resources = Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`r${index}`, 1]));
    expect(errorOf(() => simulate([], { resources }))).toMatchObject({ code: 'INVALID_VALUE' });
    const { r64: _, ...fewer } = resources;
    expect(simulate([], { resources: fewer }).utilization['r63']).toEqual({ meanUsed: 0, limit: 1 });
  });
});

it.each([-1, Number.NaN, '2', null, 1e13])(
  'a capacity cannot be %s, and then nothing changes',
  (capacity) => {
    const engine = new ParallelExecutionEngine({ resources: { gpu: 1 } });
    const change = { resources: { license: 3, gpu: capacity as number } };
    expect(errorOf(() => engine.setLimits(change))).toMatchObject({ code: 'INVALID_VALUE' });
    expect(engine.statistics().utilization['gpu']).toEqual({ used: 0, limit: 1 });
    expect(engine.statistics().utilization['license']).toBeUndefined();
  },
);

it.each([-1, Number.NaN, 1e10])('a demand cannot be %s', (gpu) => {
  const engine = new ParallelExecutionEngine({ resources: { gpu: 1 } });
  expect(errorOf(() => engine.check({ toolName: 'a', resources: { gpu } }))).toMatchObject({
    code: 'INVALID_VALUE',
    details: { name: 'resources.gpu' },
  });
});

it('an unknown resource is refused with the nearest and all known names', () => {
  const engine = new ParallelExecutionEngine({ resources: { gpu: 1, license: 2 } });
  expect(errorOf(() => engine.check({ toolName: 'a', resources: { licence: 1 } }))).toMatchObject({
    code: 'UNKNOWN_RESOURCE',
    details: {
      field: 'licence',
      nearest: 'license',
      known: [...RESOURCE_TABLE.map(({ need }) => need), 'exclusive', 'shared', 'gpu', 'license'],
    },
  });
});

it('a tool can need a named resource before any engine knows it', () => {
  const tool = defineTool({ name: 'train', resources: { gpu: 2 }, run: () => 1 });
  expect(tool.resources).toEqual({ gpu: 2 });
  expect(errorOf(() => defineTool({ name: 'train', resources: { gpu: -1 }, run: () => 1 }))).toMatchObject({
    code: 'INVALID_TOOL',
  });
});

describe('ResourceManager', () => {
  it('accounts for named resources', () => {
    const manager = new ResourceManager({ resources: { gpu: 2 } });
    const granted = manager.tryAllocate('a', { gpu: 2 });
    expect(manager.tryAllocate('b', { gpu: 1 })).toEqual({
      granted: false,
      resource: 'gpu',
      needed: 1,
      free: 0,
    });
    expect(manager.tryAllocate('c', {})).toMatchObject({
      granted: true,
      allocation: { amounts: { gpu: 0 } },
    });
    expect(granted).toMatchObject({ granted: true, allocation: { amounts: { gpu: 2 } } });
    if (granted.granted) manager.release(granted.allocation);
    expect(manager.utilization()['gpu']).toEqual({ used: 0, limit: 2 });
    expect(errorOf(() => manager.tryAllocate('d', { gpus: 1 }))).toMatchObject({
      code: 'UNKNOWN_RESOURCE',
      details: { nearest: 'gpu' },
    });
    manager.setLimits({ resources: { gpu: 3 } });
    expect(manager.tryAllocate('e', { gpu: 3 })).toMatchObject({ granted: true });
  });
});

it('an engine records what was held of a named resource', async () => {
  await using engine = new ParallelExecutionEngine({ resources: { gpu: 2 } });
  await engine.submit({ toolName: 'train', resources: { gpu: 2 } }, () => 1).wait();
  await engine.submit({ toolName: 'plain' }, () => 1).wait();
  await engine.drain();
  expect(engine.allocationHistory().map(({ amounts }) => amounts['gpu'])).toEqual([2, 0]);
  expect(engine.utilizationHistory().at(-1)!.used['gpu']).toBe(0);
});
