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

  it('gives its room back, so that others start while it is saved', () => {
    const world = new World({ limits: { cpu: 1 } });
    const { executions } = world.submitAll(
      [
        { id: 'a', resources: { cpu: 1 } },
        { id: 'b', resources: { cpu: 1 } },
      ],
      { maxConcurrency: 1 },
    );
    const [a] = executions;
    expect(world.running).toEqual(['a']);
    world.keeping(a!, true);
    expect([a!.statusName, a!.isSaving]).toEqual(['running', true]);
    expect(world.running).toEqual(['a', 'b']);
    expect(world.cancel(a!)).toBe(false);
    world.succeed(a!);
    expect(describeEnd(a!)).toBe('completed');
  });

  it('keeps its room if others depend on it, which may be more urgent than all that waits', () => {
    const world = new World();
    const { executions } = world.submitAll(
      [
        { id: 'a', priority: 'critical' },
        { id: 'b', priority: 'low' },
        { id: 'next', priority: 'critical', dependsOn: ['a'] },
      ],
      { maxConcurrency: 1 },
    );
    world.keeping(executions[0]!, true);
    expect([executions[0]!.isSaving, world.running]).toEqual([false, ['a']]);
    world.succeed(executions[0]!);
    expect(world.running).toEqual(['next']);
  });

  it('has room again in its next attempt if it could not be saved', () => {
    const world = new World({ limits: { cpu: 1 } });
    const { executions } = world.submitAll([
      { id: 'a', resources: { cpu: 1 }, retry: { maxRetries: 1, delayMs: 0 } },
      { id: 'b', resources: { cpu: 1 } },
    ]);
    const [a, b] = executions;
    world.keeping(a!, true);
    world.fail(a!);
    world.advance(1);
    expect([a!.statusName, b!.statusName]).toEqual(['queued', 'running']);
    world.succeed(b!);
    expect([a!.statusName, a!.attempt, a!.isSaving]).toEqual(['running', 2, false]);
  });

  it('keeps its room if it has a lock', () => {
    const world = new World();
    const { executions } = world.submitAll([
      { id: 'a', resources: { exclusive: ['file'] } },
      { id: 'b', resources: { exclusive: ['file'] } },
    ]);
    world.keeping(executions[0]!, true);
    expect([executions[0]!.isSaving, world.running]).toEqual([false, ['a']]);
    world.succeed(executions[0]!);
    expect(world.running).toEqual(['b']);
  });

  it('does not count towards the durations of its tool while it is saved', () => {
    const world = new World();
    const [a] = world.submitAll([{ id: 'a', toolName: 'save' }]).executions;
    world.advance(10);
    world.keeping(a!, true);
    world.advance(1000);
    world.succeed(a!);
    expect(a!.demand.tool.durations.estimateMs()).toBeLessThan(100);
  });
});
