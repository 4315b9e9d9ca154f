import { describe, expect, it } from 'vitest';
import { Explanations } from './support/explanations.ts';
import { World } from './support/world.ts';

/** The texts of all explanations; the last test compares them with a golden file. */
const explanations = new Explanations();
const explained = explanations.ofQueued.bind(explanations);

/** One that wants a lock and nothing else, so that it never waits for anything else. */
const onlyLock = (kind: 'shared' | 'exclusive') => ({
  resources: { cpu: 0, memoryMb: 0, io: 'none' as const, [kind]: ['db'] },
});

describe('what an execution is told that several things keep', () => {
  it('is that it can never start, rather than that it would have to wait', () => {
    const world = new World({ limits: { concurrency: 1, memoryMb: 4096 } });
    world.submit({});
    const waiting = world.submit({ resources: { memoryMb: 3000 } });
    world.limit({ memoryMb: 2048 });
    world.pause();
    expect(explained(world, waiting)).toMatchObject({ reason: 'resource', limit: 2048, isPossible: false });
  });

  it('is the lock for which it waits, rather than that all slots are taken', () => {
    const world = new World({ limits: { concurrency: 2 } });
    world.submit({ id: 'holder', resources: { exclusive: ['db'] } });
    const waiting = world.submit({ resources: { exclusive: ['db'] } });
    world.submit({});
    expect(explained(world, waiting)).toMatchObject({ reason: 'lock', heldBy: [{ id: 'holder' }] });
  });

  it('is who holds a lock, rather than for whom it is kept', () => {
    const world = new World({ limits: { cpu: 4 }, reserveAfterMs: 1000 });
    world.submit({ id: 'reader', ...onlyLock('shared') });
    world.submit({ resources: { cpu: 3 } });
    const large = world.submit({ id: 'large', resources: { cpu: 4, exclusive: ['db'] } });
    world.advance(1000);
    world.succeed(world.submit({ resources: { cpu: 1 } }));
    expect(explained(world, large).reason).toBe('resource');
    const writer = world.submit(onlyLock('exclusive'));
    expect(explained(world, writer)).toMatchObject({ reason: 'lock', heldBy: [{ id: 'reader' }] });
    expect(explained(world, world.submit(onlyLock('shared')))).toMatchObject({
      reason: 'reservation',
      reservedFor: { id: 'large' },
    });
  });
});

describe('an execution that the scheduler has not looked at yet', () => {
  it('is told of a lock that is held', () => {
    const world = new World({ advancesAlone: false });
    world.submit({ id: 'holder', resources: { exclusive: ['db'] } });
    world.advance();
    const fresh = world.submit({ resources: { exclusive: ['db'] } });
    expect(explained(world, fresh)).toMatchObject({ reason: 'lock', heldBy: [{ id: 'holder' }], ahead: 0 });
  });

  it('is told that it is next when the room that was kept for it has come free', () => {
    const world = new World({ limits: { cpu: 4 }, reserveAfterMs: 1000, advancesAlone: false });
    const holder = world.submit({ resources: { cpu: 3 } });
    world.advance();
    const large = world.submit({ resources: { cpu: 4 } });
    world.advance(1000);
    const small = world.submit({ resources: { cpu: 1 } });
    world.advance();
    world.succeed(small);
    world.advance();
    expect(explained(world, large)).toMatchObject({ reason: 'resource', roomIsKept: true });
    world.succeed(holder);
    expect(explained(world, large)).toMatchObject({
      reason: 'turn',
    });
  });

  it('is told who goes before it to a lock that nobody holds any more', () => {
    const world = new World({ advancesAlone: false });
    const holder = world.submit({ resources: { exclusive: ['db'] } });
    world.submitAll(Array.from({ length: 4 }, () => ({ resources: { exclusive: ['db'] } })));
    world.advance();
    const waits = () =>
      ['exec-2', 'exec-3', 'exec-4', 'exec-5'].map((id) => {
        const explanation = explained(world, world.find(id));
        return explanation.reason === 'lock' ? explanation.ahead : explanation.reason;
      });
    expect(waits()).toEqual([0, 1, 2, 3]);
    world.succeed(holder);
    expect(waits()).toEqual(['turn', 0, 1, 2]);
  });
});

it('reads as in the golden file', async () => {
  await expect(explanations.texts.join('\n')).toMatchFileSnapshot('golden/explain-precedence.txt');
});
