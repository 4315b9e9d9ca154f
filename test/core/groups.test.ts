import { describe, expect, it } from 'vitest';
import { describeEnd, World } from './support/world.ts';

describe('a failFast group', () => {
  it('cancels the rest at the first failure; without it the rest goes on', () => {
    for (const failFast of [true, false]) {
      const world = new World({ limits: { concurrency: 2 } });
      const { executions } = world.submitAll([{ id: 'a' }, { id: 'b' }, { id: 'c' }], { failFast });
      world.fail(world.find('a'));
      const rest = executions.slice(1).map((execution) => execution.statusName);
      expect(rest).toEqual(failFast ? ['cancelled', 'cancelled'] : ['running', 'running']);
    }
  });

  it('skips what waits for the failed one and cancels everything else, whatever the order', () => {
    const world = new World();
    const { executions } = world.submitAll(
      [{ id: 'a' }, { id: 'b', dependsOn: ['a'] }, { id: 'c' }, { id: 'd', dependsOn: ['a'] }],
      { failFast: true },
    );
    world.fail(world.find('a'));
    expect(world.statuses(executions)).toEqual({ a: 'failed', b: 'skipped', c: 'cancelled', d: 'skipped' });
  });

  it('does not end with a failed attempt that will be retried, nor with a cancellation', () => {
    const world = new World();
    world.submitAll([{ id: 'a', retry: { maxRetries: 1 } }, { id: 'b' }, { id: 'c' }], { failFast: true });
    world.fail(world.find('a'));
    world.cancel(world.find('b'));
    expect(world.find('c').statusName).toBe('running');
  });

  it('ends nothing outside of it but what depends on its members', () => {
    const world = new World();
    world.submit({ id: 'other' });
    world.submitAll([{ id: 'a' }, { id: 'b' }], { failFast: true });
    const later = world.submit({ id: 'later', dependsOn: ['b'] });
    world.fail(world.find('a'));
    expect(world.find('other').statusName).toBe('running');
    expect(describeEnd(later)).toBe('skipped: b');
  });
});

describe('a group that is ended as a whole', () => {
  it('has all its members end as asked, even where older ones wait for newer ones', () => {
    const world = new World();
    const { group, executions } = world.submitAll([
      { id: 'a', dependsOn: ['b'] },
      { id: 'b', dependsOn: ['c'] },
      { id: 'c' },
    ]);
    world.cancelGroup(group, 'enough');
    expect(executions.map(describeEnd)).toEqual(Array(3).fill('cancelled: enough'));
  });

  it('fails with the reason deadline when its own wall clock runs out', () => {
    const world = new World({ limits: { concurrency: 1 } });
    const first = { id: 'first', priority: 'critical' } as const;
    const drafts = [first, { id: 'a', dependsOn: ['b'] }, { id: 'b' }, { id: 'c' }];
    const { executions } = world.submitAll(drafts, { timeoutMs: 100, failFast: true });
    world.succeed(executions[0]!);
    world.advance(99);
    expect(world.running).toEqual(['b']);
    world.advance(1);
    expect(executions.map(describeEnd)).toEqual(['completed', ...Array(3).fill('failed: deadline')]);
  });

  it('has no wall clock any more once it has ended', () => {
    const world = new World();
    const { executions } = world.submitAll([{ id: 'a' }], { name: 'g', timeoutMs: 100 });
    world.succeed(executions[0]!);
    const again = world.submitAll([{ id: 'b' }], { name: 'g' });
    world.advance(1000);
    expect(again.executions[0]!.statusName).toBe('running');
  });

  it('is forgotten with its last execution, unless limits were set for it by name', () => {
    const world = new World({ limits: { groups: { kept: { maxConcurrency: 1 } } } });
    for (const group of ['kept', 'passing']) world.succeed(world.submit({ group }));
    expect([...world.scheduler.catalog.groups.keys()]).toEqual(['kept']);
  });

  it('may be empty', () => {
    const world = new World();
    const { group } = world.submitAll([], { timeoutMs: 5 });
    expect(group.unsettled).toBe(0);
    expect(world.scheduler.nextWakeAt()).toBe(Number.POSITIVE_INFINITY);
    expect(world.scheduler.catalog.groups.size).toBe(0);
  });
});

describe('cancelling everything', () => {
  it('cancels every execution, also where one waits for another of a different group', () => {
    const world = new World();
    const a = world.submit({ id: 'a' });
    const { executions } = world.submitAll([{ id: 'b', dependsOn: ['a'] }, { id: 'c' }]);
    const d = world.submit({ id: 'd', dependsOn: ['b'] });
    world.cancelAll('closing');
    expect([a, ...executions, d].map(describeEnd)).toEqual(Array(4).fill('cancelled: closing'));
  });
});

describe('a group without a name', () => {
  it('joins no other group, whatever name that one has', () => {
    const world = new World();
    const other = world.submit({ group: 'group-1' });
    world.submitAll([{}], { name: 'group-2' });
    const { group, executions } = world.submitAll([{ id: 'a' }, { id: 'b' }], { failFast: true });
    expect(group.unsettled).toBe(2);
    world.fail(executions[0]!);
    expect(other.statusName).toBe('running');
  });
});

describe('submitting to a group that exists', () => {
  it('adds to it, and a higher limit lets its waiting members start', () => {
    const world = new World();
    const first = world.submitAll([{ id: 'a' }, { id: 'b' }, { id: 'c' }], { name: 'g', maxConcurrency: 1 });
    expect(world.running).toEqual(['a']);
    const second = world.submitAll([], { name: 'g', maxConcurrency: 3 });
    expect(second.group).toBe(first.group);
    expect(world.running).toEqual(['a', 'b', 'c']);
  });

  it('leaves it failFast or not as it was, unless it says so or the group has ended', () => {
    const world = new World({ limits: { groups: { g: { maxConcurrency: 9 } } } });
    const { executions } = world.submitAll([{}, {}], { name: 'g', failFast: true });
    world.submitAll([{ id: 'more' }], { name: 'g' });
    world.fail(executions[0]!);
    expect(world.find('more').statusName).toBe('cancelled');
    const again = world.submitAll([{}, {}], { name: 'g' });
    world.fail(again.executions[0]!);
    expect(again.executions[1]!.statusName).toBe('running');
    world.submitAll([{ id: 'last' }], { name: 'g', failFast: true });
    world.fail(again.executions[1]!);
    expect(world.find('last').statusName).toBe('cancelled');
  });
});
