import { describe, expect, it } from 'vitest';
import type { Execution } from '../../src/core/execution.ts';
import type { Scheduler } from '../../src/core/scheduler.ts';
import { Status } from '../../src/core/status.ts';
import { validate } from '../../src/core/validate.ts';
import { World } from './support/world.ts';

/** A scheduler with something in every state: running, pending, queued, behind a lock, retrying, lent, lingering. */
function busyWorld(): World {
  const world = new World({ limits: { concurrency: 5, cpu: 4 }, reserveAfterMs: 0 });
  world.submit({
    id: 'running',
    toolName: 'a',
    resources: { cpu: 2, exclusive: ['db'] },
    conflictsWith: ['b'],
  });
  world.submit({ id: 'behind lock', resources: { exclusive: ['db'] }, deadlineMs: 500 });
  world.submit({ id: 'pending', dependsOn: ['running'], group: 'g' });
  const retrying = world.submit({ id: 'retrying', retry: { maxRetries: 1 } });
  world.fail(retrying);
  world.lend(world.submit({ id: 'lent', group: 'g' }));
  world.cancel(world.submit({ id: 'lingering' }));
  world.submitAll([
    { id: 'late', dependsOn: ['early', 'pending'] },
    { id: 'early', dependsOn: ['running'] },
  ]);
  world.submit({ id: 'large', toolName: 'large', resources: { cpu: 4 } });
  return world;
}

type Tamper = (scheduler: Scheduler, find: (id: string) => Execution) => unknown;

/** Each does what no event does, and the message that must name it. */
const TAMPERS: readonly [invariant: string, tamper: Tamper][] = [
  ['who holds room is listed', ({ dispatcher }) => (dispatcher.holders as Execution[]).pop()],
  ['the cpu in use', ({ dispatcher }) => void dispatcher.resources.used[1]!++],
  ['the tool a counts what runs', ({ catalog }) => void catalog.tools.get('a')!.running--],
  ['the tool b counts what conflicts with it', ({ catalog }) => void catalog.tools.get('b')!.conflictedBy++],
  ['the tool a counts what is unsettled', ({ catalog }) => void catalog.tools.get('a')!.unsettled++],
  ['the tool of an unsettled execution is known', ({ catalog }) => void catalog.tools.delete('large')],
  ['the group of an unsettled execution is known', ({ catalog }) => void catalog.groups.delete('g')],
  ['a class counts what is unsettled', (_, find) => void find('large').demand.unsettled++],
  ['the class of an unsettled execution is known', (_, find) => find('large').demand.tool.classes.splice(0)],
  ['the group g counts what runs', ({ catalog }) => void catalog.groups.get('g')!.running++],
  [
    'the group g lists its unsettled executions',
    ({ catalog }) => Object.assign(catalog.groups.get('g')!, { members: [] }),
  ],
  [
    'the group g lists each execution once',
    ({ catalog }, find) => catalog.groups.get('g')!.add(find('lent')),
  ],
  [
    'the group g counts its unsettled executions',
    ({ catalog }, find) => catalog.groups.get('g')!.remove(find('lent')),
  ],
  ['counts the classes that conflict with it', (_, find) => void find('large').demand.tool.namedBy++],
  ['the count of queued ones of all', ({ lifecycle }) => void lifecycle.counts[Status.queued]!++],
  ['the count of pending ones of the group g', ({ catalog }) => void catalog.groups.get('g')!.counts[0]!--],
  [
    'waitingFor is the number of unsettled dependencies',
    (_, find) => void find('pending').links!.waitingFor++,
  ],
  [
    'waitingFor is the number of unsettled dependencies',
    (_, find) => void find('late').block!.waitingFor[0]!++,
  ],
  ['an unsettled dependency knows its dependent', (_, find) => find('running').links!.dependents!.pop()],
  [
    'an unsettled dependency knows its dependent',
    (_, find) => Object.assign(find('late').block!, { dependentPlaces: Int32Array.of(1) }),
  ],
  [
    'a dependent depends on what it is listed for',
    (_, find) => find('running').links!.dependents!.push(find('large')),
  ],
  [
    'who has a block stands in it',
    (_, find) => Object.assign(find('running').links!, { block: find('late').block }),
  ],
  ['what is remembered is found by its id', (_, find) => Object.assign(find('large'), { name: 'other' })],
  ['the graph knows what has settled', (_, find) => Object.assign(find('lingering'), { edges: undefined })],
  ['only what is queued stands in a queue', (_, find) => Object.assign(find('large'), { home: undefined })],
  ['the rank of a class is that of its head', (_, find) => void find('large').demand.headRank++],
  ['the head of a class is its most urgent', (_, find) => find('large').demand.setHead(undefined, 0)],
  [
    'a class with a queue contends or is kept out',
    (_, find) => find('large').demand.standsIn!.remove(find('large').demand),
  ],
  [
    'those who are kept out alike know since when they wait',
    (_, find) => Object.assign(find('large').demand.standsIn!, { waitsSince: 1 }),
  ],
  ['classes are kept out', ({ dispatcher }) => void dispatcher.contest.keptOut++],
  [
    'a queue contends with its first',
    ({ dispatcher }, find) => dispatcher.contest.woken.insert(find('large').demand.standsIn!, 7),
  ],
  ['what waits for cpu does not fit', ({ dispatcher }) => dispatcher.resources.limits.splice(1, 1, 9000)],
  [
    'the lock db knows its exclusive holder',
    (_, find) => Object.assign(find('running').claims![0]!.lock, { exclusiveHolder: undefined }),
  ],
  ['the lock db counts its claims', (_, find) => void find('running').claims![0]!.lock.claims++],
  [
    'locks are kept for whom room is kept',
    ({ dispatcher }) => Object.assign(dispatcher, { reserved: undefined }),
  ],
  ['stopped attempts linger', ({ lifecycle }) => void lifecycle.lingering++],
  ['a timer is set while there is a limit', ({ timers }, find) => timers.clear(find('behind lock'))],
  ['a timer is set while there is a limit', ({ timeouts }) => timeouts.takeBefore(Number.POSITIVE_INFINITY)!],
  ['each timeout is listed once', ({ timeouts }, find) => timeouts.add(find('running'), 0)],
  ['each limit is watched in one place', ({ timers }, find) => timers.set(find('running'), 9)],
  [
    'is set for the next limit',
    ({ timers, timeouts }) => timers.set(timeouts.takeBefore(Number.POSITIVE_INFINITY)!, 1e6),
  ],
  ['is set for the next limit', ({ timers }, find) => timers.set(find('behind lock'), 7)],
  ['only what runs can lend room', (_, find) => Object.assign(find('retrying'), { room: 'lent' })],
  ['room is held by what runs or lingers', (_, find) => Object.assign(find('retrying'), { room: 'held' })],
  ['only a stopped attempt lingers', (_, find) => Object.assign(find('running'), { graceUntil: 5 })],
];

describe('validate', () => {
  it('finds nothing wrong with a scheduler that is busy in every way', () => {
    const world = busyWorld();
    const statuses = world.statuses(world.scheduler.graph);
    expect(new Set(Object.values(statuses))).toEqual(
      new Set(['running', 'pending', 'queued', 'retrying', 'cancelled']),
    );
    validate(world.scheduler);
  });

  it.each(TAMPERS)('names what is broken: %s', (invariant, tamper) => {
    const world = busyWorld();
    tamper(world.scheduler, (id) => world.find(id));
    expect(() => validate(world.scheduler)).toThrow(new RegExp(`^Broken invariant: .*${invariant}`));
  });

  it('allows more in use than a limit that was lowered, if it is told so', () => {
    const world = busyWorld();
    world.scheduler.limit({ cpu: 1 });
    expect(() => validate(world.scheduler)).toThrow('within the limit');
    validate(world.scheduler, { limitsWereLowered: true });
  });
});
