import { describe, expect, it } from 'vitest';
import { World } from './support/world.ts';

describe('limits that change while executions run', () => {
  it('let more start when they are raised', () => {
    const world = new World({
      limits: { concurrency: 1, tools: { t: { maxConcurrency: 1 } }, groups: { g: { maxConcurrency: 1 } } },
    });
    for (const id of ['a', 'b', 'c', 'd']) world.submit({ id, toolName: 't', group: 'g' });
    expect(world.running).toEqual(['a']);
    world.limit({ concurrency: 3 });
    expect(world.running).toEqual(['a']);
    world.limit({ tools: { t: { maxConcurrency: 4 } } });
    expect(world.running).toEqual(['a']);
    world.limit({ groups: { g: { maxConcurrency: Number.POSITIVE_INFINITY } } });
    expect(world.running).toEqual(['a', 'b', 'c']);
  });

  it('take nothing away from what runs when they are lowered, and hold for what comes', () => {
    const world = new World({ limits: { cpu: 4 } });
    for (const id of ['a', 'b', 'c', 'd']) world.submit({ id, resources: { cpu: 2 } });
    world.limit({ cpu: 2 });
    expect(world.running).toEqual(['a', 'b']);
    world.succeed(world.find('a'));
    expect(world.running).toEqual(['b']);
    world.succeed(world.find('b'));
    expect(world.running).toEqual(['c']);
  });

  it('leave alone what they do not name', () => {
    const world = new World({ limits: { concurrency: 2, cpu: 1, tools: { tool: { maxConcurrency: 1 } } } });
    world.limit({ memoryMb: 5000 });
    world.submitAll([{ id: 'a' }, { id: 'b' }]);
    expect(world.running).toEqual(['a']);
    expect(world.scheduler.dispatcher.resources.utilization()).toMatchObject({
      concurrency: { limit: 2 },
      cpu: { used: 0.1, limit: 1 },
      memoryMb: { used: 100, limit: 5000 },
    });
  });

  it('let what they rule out wait until they are raised again', () => {
    const world = new World({ limits: { cpu: 4 } });
    world.pause();
    world.submit({ id: 'large', resources: { cpu: 4 } });
    world.submit({ id: 'small', resources: { cpu: 1 } });
    world.limit({ cpu: 2 });
    world.resume();
    world.advance(60_000);
    expect(world.running).toEqual(['small']);
    world.limit({ cpu: 8 });
    expect(world.running).toEqual(['small', 'large']);
  });

  it('are all checked before any is set', () => {
    const world = new World({ limits: { cpu: 4 } });
    expect(() => world.limit({ cpu: 2, tools: { t: { maxConcurrency: 0 } } })).toThrow(
      'maxConcurrency of tool t',
    );
    expect(() => world.limit({ cpu: 2, memoryMb: Number.NaN })).toThrow('limits.memoryMb');
    expect(() => world.limit({ cpu: 2, groups: { g: { rate: { count: 0, perMs: 1 } } } })).toThrow(
      'rate of group g.count',
    );
    expect(world.scheduler.dispatcher.resources.utilization().cpu.limit).toBe(4);
    expect(world.scheduler.catalog.tools.size + world.scheduler.catalog.groups.size).toBe(0);
  });

  it('keep out nobody for a lock while one that they rule out is next', () => {
    const world = new World({ limits: { cpu: 4 } });
    const holder = world.submit({ resources: { cpu: 0, exclusive: ['db'] } });
    world.submit({ id: 'large', priority: 'critical', resources: { cpu: 4, exclusive: ['db'] } });
    world.submit({ id: 'small', resources: { exclusive: ['db'] } });
    world.limit({ cpu: 2 });
    world.succeed(holder);
    expect(world.running).toEqual(['small']);
  });
});
