import { describe, expect, it } from 'vitest';
import type { Execution } from '../../src/core/execution.ts';
import type { Group } from '../../src/core/group.ts';
import { describeEnd, World } from './support/world.ts';

describe('an attempt that keeps its result', () => {
  it('is not cancelled: not alone, not with its group, not with everything', () => {
    const world = new World();
    const { group, executions } = world.submitAll([
      { id: 'a' },
      { id: 'b' },
      { id: 'next', dependsOn: ['a'] },
    ]);
    const [a, b, next] = executions;
    world.keeping(a!);
    expect(world.cancel(a!)).toBe(false);
    expect(next!.statusName).toBe('pending');
    world.cancelGroup(group);
    world.cancelAll();
    expect([b!, next!].map(describeEnd)).toEqual(['cancelled: asked', 'cancelled: asked']);
    expect(a!.statusName).toBe('running');
    expect(world.succeed(a!)).toBe(true);
    expect(describeEnd(a!)).toBe('completed');
    expect(world.log.filter((line) => line.includes('stop a'))).toEqual([]);
  });

  it('has no limit in time any more, and lets run what depends on it', () => {
    const world = new World();
    const { executions } = world.submitAll(
      [
        { id: 'timeout', timeoutMs: 10 },
        { id: 'stall', timeoutMs: 10, stallMs: 10 },
        { id: 'deadline', deadlineMs: 10 },
        { id: 'next', dependsOn: ['timeout', 'stall', 'deadline'] },
      ],
      { failFast: true },
    );
    const kept = executions.slice(0, 3);
    for (const execution of kept) world.keeping(execution);
    world.advance(1000);
    expect(kept.map(({ statusName }) => statusName)).toEqual(['running', 'running', 'running']);
    for (const execution of kept) expect(world.succeed(execution)).toBe(true);
    expect(world.running).toEqual(['next']);
  });

  it.each<[string, (world: World, execution: Execution, group: Group) => void]>([
    ['it', (world, execution) => world.cancel(execution)],
    ['its group', (world, _, group) => world.cancelGroup(group)],
    ['everything', (world) => world.cancelAll()],
    ['its group in time', (world) => world.advance(1000)],
  ])('is not tried again if it fails after somebody wanted %s to end', (_, endIt) => {
    const world = new World();
    const { group, executions } = world.submitAll([{ retry: { maxRetries: 5, delayMs: 0 } }], {
      timeoutMs: 1000,
    });
    const execution = executions[0]!;
    world.keeping(execution);
    endIt(world, execution, group);
    expect(execution.statusName).toBe('running');
    expect(world.fail(execution)).toBe(true);
    expect(describeEnd(execution)).toBe('failed: error');
  });

  it('fails as others do, and the next attempt has its limits again', () => {
    const world = new World({ graceMs: 0 });
    const execution = world.submit({ timeoutMs: 10, retry: { maxRetries: 1, delayMs: 0, jitter: 0 } });
    world.keeping(execution);
    world.advance(20);
    expect(world.fail(execution)).toBe(true);
    expect(execution.attempt).toBe(2);
    world.advance(20);
    expect(describeEnd(execution)).toBe('failed: timeout');
  });
});
