import { describe, expect, it } from 'vitest';
import type { SchedulerLimits } from '../../src/core/scheduler-options.ts';
import { type Draft, describeEnd, World } from './support/world.ts';

describe('lent room', () => {
  it('lets a child run where there is room for one only, and comes back after it', () => {
    const world = new World({ limits: { concurrency: 1, cpu: 1 } });
    const parent = world.submit({ id: 'parent', resources: { cpu: 1, exclusive: ['db'] } });
    const child = world.submit({ id: 'child', resources: { cpu: 1, exclusive: ['db'] } });
    world.lend(parent);
    expect(child.statusName).toBe('running');
    world.reclaim(parent);
    expect(parent.room).toBe('lent');
    world.succeed(child);
    expect(parent.room).toBe('held');
    expect(world.log.at(-1)).toBe('0 resume parent');
  });

  it('lets children nest as deep as they like in a single slot', () => {
    const world = new World({ limits: { concurrency: 1 } });
    const family = [world.submit({ id: 'e0' })];
    for (let depth = 1; depth < 50; depth++) {
      family.push(world.submit({ id: `e${depth}` }));
      world.lend(family[depth - 1]!);
    }
    for (const member of family.reverse()) {
      if (member.room === 'lent') world.reclaim(member);
      world.succeed(member);
    }
    expect(family.every((member) => member.statusName === 'completed')).toBe(true);
  });

  it('comes back before others start who are not as far', () => {
    const world = new World({ limits: { concurrency: 1 } });
    const parent = world.submit({ id: 'parent', priority: 'background' });
    const child = world.submit({ id: 'child' });
    world.lend(parent);
    world.submit({ id: 'critical', priority: 'critical' });
    world.reclaim(parent);
    world.succeed(child);
    expect(parent.room).toBe('held');
    expect(world.find('critical').statusName).toBe('queued');
  });

  it('has room kept for it until it is back, even if more urgent executions wait', () => {
    const world = new World({ reserveAfterMs: 0, limits: { cpu: 4, memoryMb: 1000 } });
    const parent = world.submit({ id: 'parent', resources: { cpu: 4, memoryMb: 600 } });
    world.lend(parent);
    world.submit({ id: 'child', resources: { cpu: 2, memoryMb: 600 } });
    world.reclaim(parent);
    world.submitAll([
      { id: 'urgent', priority: 'critical', resources: { cpu: 0, memoryMb: 600 } },
      { id: 'small', resources: { cpu: 1, memoryMb: 0 } },
    ]);
    expect(world.running).toEqual(['parent', 'child']);
  });

  it('comes back before that of another that asked for it earlier, if that one does not fit yet', () => {
    const world = new World({ limits: { cpu: 4, memoryMb: 1000 } });
    const large = world.submit({ id: 'large', resources: { cpu: 4, memoryMb: 0 } });
    world.lend(large);
    world.submit({ id: 'child', resources: { cpu: 1, memoryMb: 900 } });
    const others = [
      { id: 'delays it', resources: { cpu: 1, memoryMb: 0 } },
      { id: 'fits', resources: { cpu: 0, memoryMb: 100 } },
      { id: 'fits no more', resources: { cpu: 0, memoryMb: 100 } },
    ].map((draft) => world.submit(draft));
    for (const execution of others) world.lend(execution);
    for (const execution of [large, ...others]) world.reclaim(execution);
    expect(others.map(({ room }) => room)).toEqual(['lent', 'held', 'lent']);
    expect(world.log.at(-1)).toBe('0 resume fits');
  });

  it('comes back although a lock of it was kept for somebody else', () => {
    const world = new World({ reserveAfterMs: 0, limits: { cpu: 2 } });
    const parent = world.submit({ id: 'parent', resources: { cpu: 0, exclusive: ['db'] } });
    world.submit({ resources: { cpu: 1 } });
    world.lend(parent);
    world.submit({ id: 'large', resources: { cpu: 2, exclusive: ['db'] } });
    expect(world.scheduler.dispatcher.reserved?.id).toBe('large');
    world.reclaim(parent);
    expect(parent.room).toBe('held');
  });

  it.each<[what: string, parent: Draft, child: Draft, limits: SchedulerLimits]>([
    ['the place of its tool', {}, { toolName: 'parent' }, { tools: { parent: { maxConcurrency: 1 } } }],
    ['the place of its group', { group: 'g' }, { group: 'g' }, { groups: { g: { maxConcurrency: 1 } } }],
    ['the end of what conflicts with it', {}, { conflictsWith: ['parent'] }, {}],
    ['the end of that with which it conflicts', { conflictsWith: ['child'] }, {}, {}],
  ])('comes back only with %s', (_, parentDraft, childDraft, limits) => {
    const world = new World({ limits });
    const parent = world.submit({ toolName: 'parent', ...parentDraft });
    world.lend(parent);
    const child = world.submit({ toolName: 'child', ...childDraft });
    world.reclaim(parent);
    expect(parent.room).toBe('lent');
    world.succeed(child);
    expect(parent.room).toBe('held');
  });

  it('comes back once however often it is asked for', () => {
    const world = new World({ limits: { concurrency: 1 } });
    const parent = world.submit({});
    const child = world.submit({});
    world.lend(parent);
    world.reclaim(parent);
    world.reclaim(parent);
    world.succeed(child);
    expect(world.log.filter((line) => line.includes('resume'))).toHaveLength(1);
    world.succeed(parent);
    expect(world.scheduler.dispatcher.resources.utilization().concurrency.used).toBe(0);
  });

  it('stays lent when its owner waits for another child before it came back', () => {
    const world = new World({ limits: { concurrency: 1 } });
    const parent = world.submit({ id: 'parent' });
    const first = world.submit({ id: 'first' });
    world.lend(parent);
    world.reclaim(parent);
    const second = world.submit({ id: 'second' });
    world.lend(parent);
    world.succeed(first);
    expect(second.statusName).toBe('running');
    world.reclaim(parent);
    world.succeed(second);
    expect(parent.room).toBe('held');
  });

  it('is not asked back by one that was cancelled meanwhile', () => {
    const world = new World({ limits: { concurrency: 1 }, graceMs: 100 });
    const parent = world.submit({ id: 'parent', resources: { exclusive: ['db'] } });
    world.submit({ id: 'child' });
    world.lend(parent);
    world.reclaim(parent);
    world.cancel(parent);
    expect(describeEnd(parent)).toBe('cancelled: asked');
    world.succeed(world.find('child'));
    world.submit({ id: 'next', resources: { exclusive: ['db'] } });
    expect(world.running).toEqual(['next']);
    world.advance(100);
    expect(world.log.filter((line) => line.includes('parent'))).toEqual([
      '0 start parent#1',
      '0 stop parent#1',
      '0 settle parent cancelled: asked',
      '100 abandon parent#1',
    ]);
  });

  it('comes back though another ends that has not asked for its own', () => {
    const world = new World({ limits: { concurrency: 1 } });
    const [other, parent, child] = ['other', 'parent', 'child'].map((id) => world.submit({ id }));
    for (const execution of [other!, parent!]) world.lend(execution);
    world.reclaim(parent!);
    world.succeed(other!);
    world.succeed(child!);
    expect(parent!.room).toBe('held');
  });

  it('may be outlived: an owner can end, fail and be retried without it', () => {
    const world = new World({ limits: { concurrency: 1 } });
    const parent = world.submit({ retry: { maxRetries: 1, delayMs: 5, jitter: 0 } });
    const child = world.submit({});
    world.lend(parent);
    world.fail(parent);
    expect(parent.statusName).toBe('retrying');
    world.advance(5);
    expect(parent.statusName).toBe('queued');
    world.succeed(child);
    expect(parent.attempt).toBe(2);
    world.lend(parent);
    expect(world.succeed(parent)).toBe(true);
  });

  it('comes back when a limit was lowered below it, as soon as nobody else uses that resource', () => {
    const world = new World({ limits: { cpu: 4, networkOperations: 2 } });
    const parent = world.submit({ id: 'parent', resources: { cpu: 4 } });
    world.lend(parent);
    const child = world.submit({ resources: { cpu: 1 } });
    const remote = world.submit({ resources: { cpu: 0, network: true } });
    world.submit({ resources: { cpu: 0, network: true } });
    world.limit({ cpu: 2, networkOperations: 1 });
    world.reclaim(parent);
    expect(parent.room).toBe('lent');
    world.succeed(child);
    expect(parent.room).toBe('held');
    expect(remote.statusName).toBe('running');
  });

  it('means nothing for what does not run', () => {
    const world = new World({ limits: { concurrency: 1 } });
    world.submit({ id: 'a' });
    const queued = world.submit({ id: 'b' });
    world.lend(queued);
    world.reclaim(queued);
    expect(queued.room).toBe('none');
    world.reclaim(world.find('a'));
    expect(world.find('a').room).toBe('held');
  });
});
