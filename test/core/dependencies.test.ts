import { describe, expect, it } from 'vitest';
import { Execution } from '../../src/core/execution.ts';
import { Scheduler } from '../../src/core/scheduler.ts';
import { SILENT_EFFECTS } from './support/silent-effects.ts';
import { describeEnd, World } from './support/world.ts';

describe('a dependency that did not complete', () => {
  it('skips what depends on it, through any number of steps, and names the root cause', () => {
    const world = new World();
    const { executions } = world.submitAll([
      { id: 'a' },
      { id: 'b', dependsOn: ['a'] },
      { id: 'c', dependsOn: ['b'] },
      { id: 'd', dependsOn: ['c'] },
    ]);
    world.fail(world.find('a'));
    expect(executions.map(describeEnd)).toEqual(['failed: error', 'skipped: a', 'skipped: a', 'skipped: a']);
  });

  it('skips at once, without waiting for the other dependencies', () => {
    const world = new World();
    world.submitAll([{ id: 'a' }, { id: 'b' }, { id: 'c', dependsOn: ['a', 'b'] }]);
    world.fail(world.find('a'));
    expect(world.find('c').statusName).toBe('skipped');
    expect(world.running).toEqual(['b']);
  });

  it('lets `run` go on when all have settled, however they did', () => {
    const world = new World();
    world.submitAll([
      { id: 'a' },
      { id: 'b' },
      { id: 'c', dependsOn: ['a', 'b'], onDependencyFailure: 'run' },
    ]);
    world.fail(world.find('a'));
    expect(world.find('c').statusName).toBe('pending');
    world.cancel(world.find('b'));
    expect(world.running).toEqual(['c']);
  });

  it('starts `on-failure` when one failed and all have settled', () => {
    const world = new World();
    world.submitAll([
      { id: 'a' },
      { id: 'b' },
      { id: 'undo', dependsOn: ['a', 'b'], onDependencyFailure: 'on-failure' },
    ]);
    world.fail(world.find('a'));
    expect(world.find('undo').statusName).toBe('pending');
    world.succeed(world.find('b'));
    expect(world.running).toEqual(['undo']);
  });

  it('skips `on-failure` without a cause when nothing failed', () => {
    const world = new World();
    world.submitAll([{ id: 'a' }, { id: 'undo', dependsOn: ['a'], onDependencyFailure: 'on-failure' }]);
    world.succeed(world.find('a'));
    expect(describeEnd(world.find('undo'))).toBe('skipped: not needed');
  });

  it('makes a compensation that was not needed the cause for what waits for it', () => {
    const world = new World();
    world.submitAll([
      { id: 'a' },
      { id: 'undo', dependsOn: ['a'], onDependencyFailure: 'on-failure' },
      { id: 'tell', dependsOn: ['undo'] },
    ]);
    world.succeed(world.find('a'));
    expect(describeEnd(world.find('tell'))).toBe('skipped: undo');
  });

  it('counts a cancelled one like a failed one', () => {
    const world = new World();
    world.submitAll([{ id: 'a' }, { id: 'b', dependsOn: ['a'] }]);
    world.cancel(world.find('a'));
    expect(describeEnd(world.find('b'))).toBe('skipped: a');
  });

  it('decides at once for what is submitted later', () => {
    const world = new World();
    const a = world.submit({ id: 'a' });
    world.fail(a);
    expect(describeEnd(world.submit({ id: 'b', dependsOn: ['a'] }))).toBe('skipped: a');
    expect(world.submit({ id: 'c', dependsOn: [a], onDependencyFailure: 'run' }).statusName).toBe('running');
    expect(world.submit({ id: 'd', dependsOn: [a], onDependencyFailure: 'on-failure' }).statusName).toBe(
      'running',
    );
  });

  it('cascades across the borders of groups', () => {
    const world = new World();
    const first = world.submitAll([{ id: 'a' }], { name: 'first' });
    const second = world.submitAll([{ id: 'b', dependsOn: ['a'] }], { name: 'second', failFast: true });
    const third = world.submitAll([{ id: 'c', dependsOn: ['b'] }, { id: 'd' }], { name: 'third' });
    world.fail(first.executions[0]!);
    expect(describeEnd(second.executions[0]!)).toBe('skipped: a');
    expect(third.executions.map(describeEnd)).toEqual(['skipped: a', 'running']);
  });

  it('skips a chain of a hundred thousand without running out of stack', () => {
    const scheduler = new Scheduler(SILENT_EFFECTS, { retainSettled: 0 });
    const chain = Array.from({ length: 100_000 }, (_, index) => ({
      id: `n${index}`,
      toolName: 'tool',
      ...(index > 0 && { dependsOn: [`n${index - 1}`] }),
    }));
    const executions = chain.map(() => new Execution());
    scheduler.submitAll(executions, chain, 0);
    scheduler.advance(0);
    scheduler.fail(executions[0]!, 1, { reason: 'error' }, 0);
    expect(scheduler.lifecycle.counts[7]).toBe(99_999);
  });
});

describe('a dependency that completed', () => {
  it('lets what depends on it start, and not before', () => {
    const world = new World();
    world.submitAll([
      { id: 'd', dependsOn: ['b', 'c'] },
      { id: 'c', dependsOn: ['a'] },
      { id: 'b', dependsOn: ['a'] },
      { id: 'a' },
    ]);
    expect(world.running).toEqual(['a']);
    world.succeed(world.find('a'));
    expect(world.running).toEqual(['c', 'b']);
    world.succeed(world.find('b'));
    expect(world.running).toEqual(['c']);
    world.succeed(world.find('c'));
    expect(world.running).toEqual(['d']);
  });

  it('is counted once where it is named twice', () => {
    const world = new World();
    const a = world.submit({ id: 'a' });
    world.submit({ id: 'b', dependsOn: ['a', a, 'a'] });
    world.succeed(a);
    expect(world.running).toEqual(['b']);
  });
});
