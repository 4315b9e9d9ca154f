import { describe, expect, it } from 'vitest';
import type { SchedulerLimits } from '../../src/core/scheduler-options.ts';
import { type Draft, World } from './support/world.ts';

/** What runs at once of executions that are submitted together. */
function runningOf(drafts: readonly Draft[], limits: SchedulerLimits = {}): string[] {
  const world = new World({ limits });
  world.submitAll(drafts);
  return world.running;
}

describe('each input decides: to flip it alone changes the schedule', () => {
  it('I/O intensity', () => {
    const drafts = (io: 'low' | 'high'): Draft[] => [
      { id: 'a', resources: { io } },
      { id: 'b', resources: { io: 'medium' } },
    ];
    expect(runningOf(drafts('low'), { ioOperations: 4 })).toEqual(['a', 'b']);
    expect(runningOf(drafts('high'), { ioOperations: 4 })).toEqual(['a']);
  });

  it('network', () => {
    const drafts = (network: boolean): Draft[] => [
      { id: 'a', resources: { network: true } },
      { id: 'b', resources: { network } },
    ];
    expect(runningOf(drafts(false), { networkOperations: 1 })).toEqual(['a', 'b']);
    expect(runningOf(drafts(true), { networkOperations: 1 })).toEqual(['a']);
  });

  it('CPU', () => {
    const drafts = (cpu: number): Draft[] => [
      { id: 'a', resources: { cpu } },
      { id: 'b', resources: { cpu } },
    ];
    expect(runningOf(drafts(0.5), { cpu: 1 })).toEqual(['a', 'b']);
    expect(runningOf(drafts(0.501), { cpu: 1 })).toEqual(['a']);
  });

  it('memory', () => {
    const drafts = (memoryMb: number): Draft[] => [
      { id: 'a', resources: { memoryMb } },
      { id: 'b', resources: { memoryMb } },
    ];
    expect(runningOf(drafts(512), { memoryMb: 1024 })).toEqual(['a', 'b']);
    expect(runningOf(drafts(513), { memoryMb: 1024 })).toEqual(['a']);
  });

  it('concurrency', () => {
    expect(runningOf([{ id: 'a' }, { id: 'b' }], { concurrency: 2 })).toEqual(['a', 'b']);
    expect(runningOf([{ id: 'a' }, { id: 'b' }], { concurrency: 1 })).toEqual(['a']);
  });

  it('pairwise conflicts, in either direction', () => {
    const drafts = (first: string[], second: string[]): Draft[] => [
      { id: 'a', toolName: 'build', conflictsWith: first },
      { id: 'b', toolName: 'deploy', conflictsWith: second },
    ];
    expect(runningOf(drafts([], []))).toEqual(['a', 'b']);
    expect(runningOf(drafts(['deploy'], []))).toEqual(['a']);
    expect(runningOf(drafts([], ['build']))).toEqual(['a']);
  });

  it('a conflict of a tool with itself', () => {
    const drafts = (conflictsWith: string[]): Draft[] => [
      { id: 'a', toolName: 'build', conflictsWith },
      { id: 'b', toolName: 'build', conflictsWith },
    ];
    expect(runningOf(drafts([]))).toEqual(['a', 'b']);
    expect(runningOf(drafts(['build']))).toEqual(['a']);
  });

  it('the limit of a tool', () => {
    const drafts = (toolName: string): Draft[] => [
      { id: 'a', toolName: 'build' },
      { id: 'b', toolName },
    ];
    const limits = { tools: { build: { maxConcurrency: 1 } } };
    expect(runningOf(drafts('test'), limits)).toEqual(['a', 'b']);
    expect(runningOf(drafts('build'), limits)).toEqual(['a']);
  });

  it('the group and its limit', () => {
    const world = (group: string) => {
      const made = new World({ limits: { groups: { nightly: { maxConcurrency: 1 } } } });
      made.submit({ id: 'a', group: 'nightly' });
      made.submit({ id: 'b', group });
      return made;
    };
    expect(world('daily').running).toEqual(['a', 'b']);
    expect(world('nightly').running).toEqual(['a']);
  });

  it('the rate of a tool', () => {
    const limits = (count: number) => ({ tools: { tool: { rate: { count, perMs: 1000 } } } });
    expect(runningOf([{ id: 'a' }, { id: 'b' }], limits(2))).toEqual(['a', 'b']);
    expect(runningOf([{ id: 'a' }, { id: 'b' }], limits(1))).toEqual(['a']);
  });

  it('the rate of a group', () => {
    const running = (count: number) => {
      const world = new World();
      world.submitAll([{ id: 'a' }, { id: 'b' }], { rate: { count, perMs: 1000 } });
      return world.running;
    };
    expect(running(2)).toEqual(['a', 'b']);
    expect(running(1)).toEqual(['a']);
  });

  it('locks: shared with shared goes, every other pair does not', () => {
    const drafts = (first: 'shared' | 'exclusive', second: 'shared' | 'exclusive'): Draft[] => [
      { id: 'a', resources: { [first]: ['db'] } },
      { id: 'b', resources: { [second]: ['db'] } },
    ];
    expect(runningOf(drafts('shared', 'shared'))).toEqual(['a', 'b']);
    expect(runningOf(drafts('shared', 'exclusive'))).toEqual(['a']);
    expect(runningOf(drafts('exclusive', 'shared'))).toEqual(['a']);
    expect(runningOf(drafts('exclusive', 'exclusive'))).toEqual(['a']);
  });

  it('the name of a lock', () => {
    const drafts = (name: string): Draft[] => [
      { id: 'a', resources: { exclusive: ['db'] } },
      { id: 'b', resources: { exclusive: [name] } },
    ];
    expect(runningOf(drafts('cache'))).toEqual(['a', 'b']);
    expect(runningOf(drafts('db'))).toEqual(['a']);
  });

  it('priority', () => {
    const drafts = (priority: 'normal' | 'high'): Draft[] => [{ id: 'a' }, { id: 'b', priority }];
    expect(runningOf(drafts('normal'), { concurrency: 1 })).toEqual(['a']);
    expect(runningOf(drafts('high'), { concurrency: 1 })).toEqual(['b']);
  });

  it('the estimate: the longer path goes first', () => {
    const drafts = (estimatedMs: number): Draft[] => [
      { id: 'a', estimatedMs: 100 },
      { id: 'b', estimatedMs },
    ];
    expect(runningOf(drafts(100), { concurrency: 1 })).toEqual(['a']);
    expect(runningOf(drafts(101), { concurrency: 1 })).toEqual(['b']);
  });
});
