import { describe, expect, it } from 'vitest';
import { World } from './support/world.ts';

const READ = { resources: { shared: ['db'] } } as const;
const WRITE = { resources: { exclusive: ['db'] } } as const;

describe('those who wait for a lock', () => {
  it('get it in the order of their priority, then of their submission', () => {
    const world = new World();
    world.submit({ id: 'first', ...WRITE });
    world.submit({ id: 'low', priority: 'low', ...WRITE });
    world.submit({ id: 'second', ...WRITE });
    world.submit({ id: 'third', ...WRITE });
    world.submit({ id: 'high', priority: 'high', ...WRITE });
    for (let count = 0; count < 5; count++) world.succeed(world.find(world.running[0]!));
    expect(world.started).toEqual(['first', 'high', 'second', 'third', 'low']);
  });

  it('get it together as readers, and a writer is not starved by readers who come later', () => {
    const world = new World();
    for (const id of ['reader 1', 'reader 2']) world.submit({ id, ...READ });
    world.submit({ id: 'writer', ...WRITE });
    for (const id of ['reader 3', 'reader 4']) world.submit({ id, ...READ });
    expect(world.running).toEqual(['reader 1', 'reader 2']);
    world.succeed(world.find('reader 1'));
    world.succeed(world.find('reader 2'));
    expect(world.running).toEqual(['writer']);
    world.succeed(world.find('writer'));
    expect(world.running).toEqual(['reader 3', 'reader 4']);
  });

  it('are let in when the writer before them gives up', () => {
    const world = new World();
    world.submit({ id: 'reader 1', ...READ });
    const writer = world.submit({ id: 'writer', ...WRITE });
    world.submit({ id: 'reader 2', ...READ });
    world.cancel(writer);
    expect(world.running).toEqual(['reader 1', 'reader 2']);
  });

  it('never deadlock, in whatever order they name their locks', () => {
    const world = new World();
    world.submit({ id: 'a', resources: { exclusive: ['x', 'y'] } });
    world.submit({ id: 'b', resources: { exclusive: ['y', 'x'] } });
    world.submit({ id: 'c', resources: { exclusive: ['y'], shared: ['x'] } });
    for (const id of ['a', 'b', 'c']) {
      expect(world.running).toEqual([id]);
      world.succeed(world.find(id));
    }
  });

  it('hold nothing while they wait for the rest', () => {
    const world = new World({ reserveAfterMs: 1000 });
    world.submit({ id: 'holder', resources: { exclusive: ['x'] } });
    world.submit({ id: 'both', resources: { exclusive: ['x', 'y'] } });
    world.submit({ id: 'other', resources: { exclusive: ['y'] } });
    expect(world.running).toEqual(['holder', 'other']);
  });

  it('do not keep the next in line from a lock while a rate holds them up', () => {
    const world = new World({ limits: { tools: { slow: { rate: { count: 2, perMs: 1000 } } } } });
    const write = { ...WRITE, estimatedMs: 1 };
    for (const id of ['a', 'b', 'c', 'd']) world.submit({ id, toolName: 'slow', ...write });
    world.submit({ id: 'quick', toolName: 'quick', ...write });
    world.succeed(world.find('a'));
    world.succeed(world.find('b'));
    expect(world.running).toEqual(['quick']);
    world.succeed(world.find('quick'));
    world.advance(1000);
    expect(world.running).toEqual(['c']);
  });

  it('take a name as exclusive where it stands in both lists', () => {
    const world = new World();
    world.submit({ id: 'both', resources: { exclusive: ['db'], shared: ['db'] } });
    world.submit({ id: 'reader', ...READ });
    expect(world.running).toEqual(['both']);
  });

  it('leave nothing behind: a lock is forgotten with the last who claims it', () => {
    const world = new World();
    const writer = world.submit(WRITE);
    const reader = world.submit(READ);
    const locks = () => [...world.scheduler.dispatcher.resources.locks].map(({ name }) => name);
    expect(locks()).toEqual(['db']);
    world.cancel(reader);
    world.succeed(writer);
    expect(locks()).toEqual([]);
  });
});
