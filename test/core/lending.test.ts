import { describe, expect, it } from 'vitest';
import { describeEnd, World } from './support/world.ts';

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
