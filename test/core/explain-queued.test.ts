import { describe, expect, it } from 'vitest';
import { Explanations } from './support/explanations.ts';
import { World } from './support/world.ts';

/** The texts of all explanations; the last test compares them with a golden file. */
const explanations = new Explanations();
const explained = explanations.ofQueued.bind(explanations);

describe('a queued execution', () => {
  it('is told when everything is paused', () => {
    const world = new World();
    world.pause();
    expect(explained(world, world.submit({}))).toMatchObject({
      reason: 'paused',
      group: undefined,
    });
  });

  it('is told when its group is paused', () => {
    const world = new World({ limits: { concurrency: 1 } });
    const { group, executions } = world.submitAll([{}, {}], { name: 'crawl' });
    world.pause(group);
    expect(explained(world, executions[1]!)).toMatchObject({
      reason: 'paused',
      group: 'crawl',
    });
  });

  it('is told that all slots are taken, and how many go before it', () => {
    const world = new World({ limits: { concurrency: 2 } });
    world.submitAll([{}, {}, {}, {}, { toolName: 'urgent', priority: 'high' }]);
    const last = world.submit({ toolName: 'tool' });
    expect(explained(world, last)).toMatchObject({
      reason: 'concurrency',
      running: 2,
      limit: 2,
      ahead: { withSameNeeds: 0, overall: 3 },
    });
  });

  it('is told of a limit of its own before that all slots are taken: it is not the next to start', () => {
    const world = new World({ limits: { concurrency: 2, groups: { crawl: { maxConcurrency: 1 } } } });
    world.submit({ group: 'crawl' });
    const limited = world.submit({ group: 'crawl' });
    world.submit({ toolName: 'other' });
    const next = world.submit({ toolName: 'other' });
    expect(explained(world, limited)).toMatchObject({ reason: 'group-limit', group: 'crawl' });
    expect(explained(world, next)).toMatchObject({
      reason: 'concurrency',
    });
  });

  it('is told which resource is short', () => {
    const world = new World({ limits: { cpu: 4 } });
    world.submit({ resources: { cpu: 2.5 } });
    expect(explained(world, world.submit({ resources: { cpu: 4 } }))).toMatchObject({
      reason: 'resource',
      resource: 'cpu',
      needed: 4,
      free: 1.5,
      limit: 4,
      isPossible: true,
      roomIsKept: false,
    });
  });

  it('is told that it cannot start until a lowered limit is raised', () => {
    const world = new World({ limits: { memoryMb: 4096 } });
    const holder = world.submit({ resources: { memoryMb: 4096 } });
    const waiting = world.submit({ resources: { memoryMb: 3000 } });
    world.limit({ memoryMb: 2048 });
    world.succeed(holder);
    expect(explained(world, waiting)).toMatchObject({
      reason: 'resource',
      resource: 'memoryMb',
      isPossible: false,
    });
  });

  it('is told that nothing is free where more is in use than a lowered limit allows', () => {
    const world = new World({ limits: { memoryMb: 4096 } });
    world.submit({ resources: { memoryMb: 3000 } });
    const waiting = world.submit({ resources: { memoryMb: 2000 } });
    world.limit({ memoryMb: 2048 });
    expect(explained(world, waiting)).toMatchObject({ reason: 'resource' });
  });

  it('is told that its tool runs as often as it may', () => {
    const world = new World({ limits: { tools: { fetch: { maxConcurrency: 2 } } } });
    world.submitAll([{ toolName: 'fetch' }, { toolName: 'fetch' }]);
    expect(explained(world, world.submit({ toolName: 'fetch' }))).toMatchObject({
      reason: 'tool-limit',
      running: 2,
      limit: 2,
    });
  });

  it('is told that its group runs as often as it may', () => {
    const world = new World();
    const { executions } = world.submitAll([{}, {}], { name: 'crawl', maxConcurrency: 1 });
    expect(explained(world, executions[1]!)).toMatchObject({
      reason: 'group-limit',
      group: 'crawl',
      running: 1,
      limit: 1,
    });
  });

  it('is told with which running tools it conflicts, by its own word or by theirs', () => {
    const world = new World();
    world.submit({ toolName: 'read' });
    world.submit({ toolName: 'backup', conflictsWith: ['migrate'] });
    world.submit({ toolName: 'unconcerned', conflictsWith: ['deploy'] });
    const migrate = world.submit({ toolName: 'migrate', conflictsWith: ['read', 'idle'] });
    expect(explained(world, migrate)).toMatchObject({
      reason: 'conflict',
      conflictsWith: ['read', 'backup'],
    });
    const deploy = world.submit({ toolName: 'deploy' });
    expect(explained(world, deploy)).toMatchObject({ reason: 'conflict' });
  });

  it('is told of ten running tools with which it conflicts', () => {
    const world = new World({ limits: { concurrency: 20 } });
    const conflictsWith = [...'abcdefghijkl'];
    world.submitAll(conflictsWith.map((toolName) => ({ toolName })));
    const explanation = explained(world, world.submit({ conflictsWith }));
    expect(explanation).toMatchObject({ reason: 'conflict', conflictsWith: conflictsWith.slice(0, 10) });
  });

  it('is told who holds a lock for himself', () => {
    const world = new World();
    world.submit({ id: 'm-1', toolName: 'migrate', resources: { exclusive: ['db'] } });
    world.submit({ id: 'first', resources: { exclusive: ['db'] } });
    const second = world.submit({ resources: { shared: ['db'] } });
    expect(explained(world, world.find('first'))).toMatchObject({ reason: 'lock' });
    expect(explained(world, second)).toMatchObject({
      reason: 'lock',
      lock: 'db',
      heldBy: [{ id: 'm-1', toolName: 'migrate' }],
      holders: 1,
      ahead: 1,
    });
  });

  it('is told who shares a lock that it wants for itself', () => {
    const world = new World();
    world.submitAll(
      Array.from({ length: 12 }, (_, index) => ({
        id: `r${index}`,
        toolName: 'read',
        resources: { shared: ['db'] },
      })),
    );
    const explanation = explained(world, world.submit({ resources: { exclusive: ['db'] } }));
    expect(explanation).toMatchObject({ reason: 'lock', holders: 12, ahead: 0 });
    expect(explanation.text).toContain(' more');
  });

  it('is told that others wait for a lock before it', () => {
    const world = new World();
    world.submit({ resources: { shared: ['db'] } });
    world.submit({ resources: { exclusive: ['db'] } });
    expect(explained(world, world.submit({ resources: { shared: ['db'] } }))).toMatchObject({
      reason: 'lock',
      heldBy: [],
      holders: 0,
      ahead: 1,
    });
  });

  it('is told until when a rate keeps it', () => {
    const world = new World({ limits: { tools: { fetch: { rate: { count: 2, perMs: 1000 } } } } });
    world.submit({ toolName: 'fetch' });
    world.advance(100);
    world.submit({ toolName: 'fetch' });
    world.advance(550);
    expect(explained(world, world.submit({ toolName: 'fetch' }))).toMatchObject({
      reason: 'rate',
      owner: 'tool fetch',
      allowedInMs: 350,
    });
  });

  it('is told for whom room is kept, and that one knows that it is', () => {
    const world = new World({ limits: { cpu: 4 }, reserveAfterMs: 1000 });
    const holder = world.submit({ resources: { cpu: 3 } });
    const large = world.submit({ id: 'large', toolName: 'build', resources: { cpu: 4 } });
    world.advance(1000);
    world.succeed(world.submit({ resources: { cpu: 1 } }));
    const small = world.submit({ resources: { cpu: 1 } });
    expect(holder.statusName).toBe('running');
    expect(explained(world, small)).toMatchObject({
      reason: 'reservation',
      reservedFor: { id: 'large', toolName: 'build' },
    });
    expect(explained(world, large)).toMatchObject({
      reason: 'resource',
      roomIsKept: true,
    });
  });

  it('is told for whom a lock is kept', () => {
    const world = new World({ limits: { cpu: 4 }, reserveAfterMs: 1000 });
    world.submit({ resources: { cpu: 3 } });
    world.submit({ id: 'large', toolName: 'build', resources: { cpu: 4, exclusive: ['db'] } });
    world.advance(1000);
    world.succeed(world.submit({ resources: { cpu: 1 } }));
    const reader = world.submit({ resources: { cpu: 0, memoryMb: 0, io: 'none', shared: ['db'] } });
    expect(explained(world, reader)).toMatchObject({ reason: 'reservation', reservedFor: { id: 'large' } });
  });

  it('is told that it is next when nothing stands in its way', () => {
    const world = new World({ advancesAlone: false });
    const first = world.submit({});
    const second = world.submit({});
    const third = world.submit({ toolName: 'another', priority: 'low' });
    expect(explained(world, first)).toMatchObject({
      reason: 'turn',
      ahead: { withSameNeeds: 0, overall: 0 },
    });
    expect(explained(world, second)).toMatchObject({ reason: 'turn' });
    expect(explained(world, third)).toMatchObject({ ahead: { withSameNeeds: 0, overall: 2 } });
  });
});

describe('the count of those who go before', () => {
  it('says how many of them need the same', () => {
    const world = new World({ limits: { concurrency: 1 } });
    world.submitAll([{}, {}, {}, { toolName: 'other' }, {}]);
    const last = world.find('exec-5');
    expect(explained(world, last)).toMatchObject({ reason: 'concurrency' });
  });

  it('is exact for ten thousand that arrived in order', () => {
    const world = new World({ limits: { concurrency: 1 }, advancesAlone: false });
    const { executions } = world.submitAll(Array.from({ length: 10_000 }, () => ({})));
    expect(explained(world, executions[7654]!)).toMatchObject({
      ahead: { withSameNeeds: 7654, overall: 7654 },
    });
  });
});

it('reads as in the golden file', async () => {
  await expect(explanations.texts.join('\n')).toMatchFileSnapshot('golden/explain-queued.txt');
});
