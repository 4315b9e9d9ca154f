import { describe, expect, it } from 'vitest';
import { World } from './support/world.ts';

describe('a pause of everything', () => {
  it('starts nothing more, lets what runs go on, and ends with resume', () => {
    const world = new World({ limits: { concurrency: 1 } });
    const first = world.submit({ id: 'first' });
    world.submit({ id: 'second' });
    world.pause();
    expect(world.succeed(first)).toBe(true);
    expect(world.running).toEqual([]);
    world.resume();
    expect(world.running).toEqual(['second']);
  });

  it('takes in and skips executions, and lets limits in time go on', () => {
    const world = new World();
    world.pause();
    const late = world.submit({ deadlineMs: 100 });
    const skipped = world.submit({ dependsOn: [late] });
    world.advance(100);
    expect([late, skipped].map((execution) => execution.statusName)).toEqual(['failed', 'skipped']);
  });

  it('lets one that had lent its room have it back', () => {
    const world = new World({ limits: { concurrency: 1 } });
    const parent = world.submit({ id: 'parent' });
    world.lend(parent);
    world.pause();
    world.reclaim(parent);
    expect(parent.room).toBe('held');
  });

  it('may be ordered twice, and ended without having begun', () => {
    const world = new World();
    world.resume();
    world.pause();
    world.pause();
    world.submit({ id: 'a' });
    world.resume();
    expect(world.running).toEqual(['a']);
  });
});

describe('a pause of a group', () => {
  it('holds back its members and nobody else', () => {
    const world = new World();
    const { group } = world.submitAll([{ id: 'a' }, { id: 'b', dependsOn: ['a'] }]);
    world.pause(group);
    world.succeed(world.find('a'));
    world.submit({ id: 'other' });
    expect(world.running).toEqual(['other']);
    world.resume(group);
    expect(world.running).toEqual(['other', 'b']);
  });

  it('is independent of a pause of everything', () => {
    const world = new World();
    const { group } = world.submitAll([{ id: 'a' }], { name: 'g' });
    world.submit({ id: 'b', group: 'g' });
    world.pause();
    world.pause(group);
    const c = world.submit({ id: 'c', group: 'g' });
    world.submit({ id: 'd' });
    world.resume();
    expect(world.running).toEqual(['a', 'b', 'd']);
    world.pause();
    world.resume(group);
    expect(c.statusName).toBe('queued');
    world.resume();
    expect(c.statusName).toBe('running');
  });

  it('keeps nobody else from a lock for which a member was next', () => {
    const world = new World();
    const holder = world.submit({ id: 'holder', resources: { exclusive: ['db'] } });
    const { group } = world.submitAll([
      { id: 'paused', priority: 'critical', resources: { exclusive: ['db'] } },
      { id: 'paused too', priority: 'critical', resources: { exclusive: ['db'] } },
    ]);
    world.submit({ id: 'free', resources: { exclusive: ['db'] } });
    world.pause(group);
    world.succeed(holder);
    expect(world.running).toEqual(['free']);
    world.resume(group);
    world.succeed(world.find('free'));
    expect(world.running).toEqual(['paused']);
  });
});
