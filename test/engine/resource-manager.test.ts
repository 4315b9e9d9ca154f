import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ResourceRequirements } from '../../src/core/demand.ts';
import { type ResourceAllocation, ResourceManager } from '../../src/index.ts';

/** What was granted; the test fails if it was not. */
function allocate(
  manager: ResourceManager,
  owner: string,
  requirements: ResourceRequirements,
): ResourceAllocation {
  const result = manager.tryAllocate(owner, requirements);
  if (!result.granted) throw new Error(`${owner} was refused: ${JSON.stringify(result)}`);
  return result.allocation;
}

describe('a resource manager', () => {
  it('refuses 0.6 of 1.0 CPU while 0.5 is in use, and grants it after the release', () => {
    const manager = new ResourceManager({ cpu: 1, memoryMb: 1024, ioOperations: 10 });
    const first = allocate(manager, 'first', { cpu: 0.5, memoryMb: 512, io: 'low', network: false });
    const second = { cpu: 0.6, memoryMb: 256, io: 'low', network: false } as const;
    expect(manager.tryAllocate('second', second)).toEqual({
      granted: false,
      resource: 'cpu',
      needed: 0.6,
      free: 0.5,
    });
    manager.release(first);
    expect(allocate(manager, 'second', second).amounts.cpu).toBe(0.6);
  });

  it('takes all that is asked for or nothing', () => {
    const manager = new ResourceManager({ cpu: 4, memoryMb: 100 });
    manager.tryAllocate('a', { cpu: 1, memoryMb: 101, exclusive: ['db'] });
    expect(manager.utilization().cpu).toEqual({ used: 0, limit: 4 });
    const held = allocate(manager, 'b', { cpu: 1, memoryMb: 10, exclusive: ['db'] });
    expect(manager.tryAllocate('c', { cpu: 1, memoryMb: 10, shared: ['db'] })).toEqual({
      granted: false,
      lock: 'db',
      heldBy: 'b',
    });
    expect(manager.utilization()).toMatchObject({ cpu: { used: 1 }, memoryMb: { used: 10 } });
    manager.release(held);
    allocate(manager, 'c', { cpu: 1, memoryMb: 10, shared: ['db'] });
    allocate(manager, 'd', { cpu: 1, memoryMb: 10, shared: ['db'] });
  });

  it('counts I/O by its weight and network by its slots', () => {
    const manager = new ResourceManager({ ioOperations: 7, networkOperations: 1 });
    for (const io of ['high', 'medium', 'low'] as const) allocate(manager, io, { io });
    allocate(manager, 'none', { io: 'none' });
    expect(manager.tryAllocate('more', { io: 'low' })).toMatchObject({ resource: 'ioOperations', free: 0 });
    allocate(manager, 'remote', { io: 'none', network: true });
    expect(manager.tryAllocate('more', { io: 'none', network: true })).toMatchObject({
      resource: 'networkOperations',
    });
  });

  it('counts how many run, and takes what is left out for unlimited', () => {
    const manager = new ResourceManager({ concurrency: 1 });
    allocate(manager, 'a', { cpu: 1e6, memoryMb: 1e6 });
    expect(manager.tryAllocate('b', {})).toMatchObject({ granted: false, resource: 'concurrency', free: 0 });
  });

  it('refuses to take back what it has not given, or has taken back', () => {
    const manager = new ResourceManager();
    const allocation = allocate(manager, 'a', {});
    manager.release(allocation);
    expect(() => manager.release(allocation)).toThrow('not open');
    expect(() => manager.release({ ...allocation })).toThrow('not open');
    expect(() => new ResourceManager().release(allocate(manager, 'b', {}))).toThrow('not open');
  });

  it('keeps what is in use when a limit is lowered below it', () => {
    const manager = new ResourceManager({ cpu: 4 });
    const allocation = allocate(manager, 'a', { cpu: 3 });
    manager.setLimits({ cpu: 2 });
    expect(manager.utilization().cpu).toEqual({ used: 3, limit: 2 });
    expect(manager.tryAllocate('b', { cpu: 0.5 })).toMatchObject({ resource: 'cpu', free: 0 });
    manager.release(allocation);
    allocate(manager, 'b', { cpu: 0.5 });
  });

  it('grants a demand of exactly the limit, however its digits are stored', () => {
    for (const cpu of [1.005, 0.57, 4.35, 8.195]) {
      allocate(new ResourceManager({ cpu }), 'a', { cpu });
    }
  });

  it('adds and subtracts without drift, and never grants beyond a limit', () => {
    const demand = fc.record({
      cpu: fc.integer({ min: 0, max: 2000 }).map((thousandths) => thousandths / 1000),
      memoryMb: fc.nat(500),
    });
    fc.assert(
      fc.property(fc.array(fc.oneof(demand, fc.nat(20)), { maxLength: 100 }), (steps) => {
        const manager = new ResourceManager({ cpu: 4, memoryMb: 1000 });
        const open: ResourceAllocation[] = [];
        for (const step of steps) {
          if (typeof step !== 'number') {
            const result = manager.tryAllocate('a', step);
            if (result.granted) open.push(result.allocation);
          } else if (step < open.length) {
            manager.release(open.splice(step, 1)[0]!);
          }
          const { cpu, memoryMb } = manager.utilization();
          const sum = open.reduce((total, { amounts }) => total + Math.round(amounts.cpu * 1000), 0);
          expect(cpu.used).toBe(sum / 1000);
          expect(cpu.used).toBeLessThanOrEqual(4);
          expect(memoryMb.used).toBeLessThanOrEqual(1000);
        }
        for (const allocation of open) manager.release(allocation);
        expect(manager.utilization().cpu.used).toBe(0);
        expect(manager.allocations()).toEqual([]);
      }),
    );
  });

  it('grants plain data: who took what and when, which can be written as JSON and given back as read', () => {
    let now = 1000;
    const manager = new ResourceManager({ cpu: 4 }, { now: () => now });
    const allocation = allocate(manager, 'build', {
      cpu: 1,
      memoryMb: 50,
      exclusive: ['db'],
      shared: ['src'],
    });
    expect(allocation).toEqual({
      id: expect.stringMatching(/^allocation-\d+$/),
      owner: 'build',
      allocatedAt: 1000,
      amounts: expect.objectContaining({ concurrency: 1, cpu: 1, memoryMb: 50 }),
      exclusive: ['db'],
      shared: ['src'],
    });
    now = 1500;
    manager.release(JSON.parse(JSON.stringify(allocation)));
    expect(manager.utilization().cpu.used).toBe(0);
    expect(manager.history()).toEqual([{ ...allocation, releasedAt: 1500 }]);
  });

  it('has a history of what was given back and of what is held, of bounded length', () => {
    const manager = new ResourceManager({}, { historySize: 2 });
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((owner) => allocate(manager, owner, {}));
    for (const allocation of [a!, c!, b!]) manager.release(allocation);
    expect(manager.history().map(({ owner, releasedAt }) => [owner, releasedAt !== undefined])).toEqual([
      ['c', true],
      ['b', true],
      ['d', false],
    ]);
    expect(manager.allocations()).toEqual([d]);
  });

  it('lets an owner take its own lock again, and others when it was given back as often', () => {
    const manager = new ResourceManager();
    const first = allocate(manager, 'a', { exclusive: ['db'] });
    const again = allocate(manager, 'a', { exclusive: ['db'] });
    const shared = allocate(manager, 'a', { shared: ['db'] });
    const refused = { granted: false, lock: 'db', heldBy: 'a' };
    manager.release(first);
    expect(manager.tryAllocate('b', { shared: ['db'] })).toEqual(refused);
    manager.release(again);
    const reader = allocate(manager, 'b', { shared: ['db'] });
    expect(manager.tryAllocate('b', { exclusive: ['db'] })).toEqual(refused);
    manager.release(shared);
    // Nobody else is left who shares it.
    allocate(manager, 'b', { exclusive: ['db'] });
    expect(manager.tryAllocate('a', { shared: ['db'] })).toMatchObject({ heldBy: 'b' });
    manager.release(reader);
    expect(manager.tryAllocate('a', { shared: ['db'] })).toMatchObject({ heldBy: 'b' });
  });
});
