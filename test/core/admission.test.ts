import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ErrorCode, VolleyError } from '../../src/core/errors.ts';
import { Scheduler } from '../../src/core/scheduler.ts';
import type { SchedulerOptions } from '../../src/core/scheduler-options.ts';
import { SILENT_EFFECTS } from './support/silent-effects.ts';
import { type Draft, World } from './support/world.ts';

/** The error that a call is refused with. */
function errorOf(call: () => unknown): VolleyError {
  try {
    call();
  } catch (error) {
    if (error instanceof VolleyError) return error;
    throw error;
  }
  throw new Error('it was not refused');
}

function expectNoTrace({ scheduler }: World): void {
  expect(scheduler.lifecycle.counts).toEqual(Array(8).fill(0));
  expect([...scheduler.graph]).toEqual([]);
  expect([...scheduler.dispatcher.resources.locks]).toEqual([]);
  expect(scheduler.catalog.groups.size).toBe(0);
  expect(scheduler.nextWakeAt()).toBe(Number.POSITIVE_INFINITY);
}

const { NaN: nan, POSITIVE_INFINITY: infinity } = Number;
const names = (count: number) => Array.from({ length: count }, (_, index) => `lock ${index}`);

/** A value that must be refused, the code, and what the message must name. */
const BAD: readonly [ErrorCode, string, unknown][] = [
  ['INVALID_VALUE', 'toolName', { toolName: '' }],
  ['INVALID_VALUE', 'toolName', { toolName: 5 }],
  ['INVALID_VALUE', 'toolName', { toolName: 'x'.repeat(257) }],
  ['INVALID_ID', '""', { id: '' }],
  ['INVALID_ID', 'exec-7', { id: 'exec-7' }],
  ['INVALID_ID', '5', { id: 5 }],
  ['INVALID_ID', 'xxx', { id: 'x'.repeat(257) }],
  ['UNKNOWN_PRIORITY', 'critical, high, normal (or medium), low or background', { priority: 'urgent' }],
  ['UNKNOWN_PRIORITY', '3', { priority: 3 }],
  ['INVALID_VALUE', 'resources', { resources: null }],
  ['INVALID_VALUE', 'resources', { resources: 'much' }],
  ['INVALID_VALUE', 'resources.cpu', { resources: { cpu: nan } }],
  ['INVALID_VALUE', 'resources.cpu', { resources: { cpu: -0.1 } }],
  ['INVALID_VALUE', 'resources.cpu', { resources: { cpu: infinity } }],
  ['INVALID_VALUE', 'resources.cpu', { resources: { cpu: '1' } }],
  ['INVALID_VALUE', 'resources.memoryMb', { resources: { memoryMb: nan } }],
  ['INVALID_VALUE', 'resources.memoryMb', { resources: { memoryMb: -1 } }],
  ['INVALID_VALUE', 'none, low, medium or high', { resources: { io: 'huge' } }],
  ['INVALID_VALUE', 'resources.network', { resources: { network: 'yes' } }],
  ['INVALID_VALUE', 'resources.exclusive', { resources: { exclusive: 'db' } }],
  ['INVALID_VALUE', 'resources.exclusive', { resources: { exclusive: [''] } }],
  ['INVALID_VALUE', 'resources.shared', { resources: { shared: [5] } }],
  ['INVALID_VALUE', '64 locks', { resources: { shared: names(65) } }],
  ['INVALID_VALUE', 'conflictsWith', { conflictsWith: 'tool' }],
  ['INVALID_VALUE', 'group', { group: '' }],
  ['INVALID_VALUE', 'dependsOn', { dependsOn: 'a' }],
  ['UNKNOWN_DEPENDENCY', '"ghost"', { dependsOn: ['ghost'] }],
  ['UNKNOWN_DEPENDENCY', '"exec-99"', { dependsOn: ['exec-99'] }],
  ['DEPENDENCY_CYCLE', 'me → me', { id: 'me', dependsOn: ['me'] }],
  ['INVALID_VALUE', 'skip, run or on-failure', { onDependencyFailure: 'ignore' }],
  ['INVALID_VALUE', 'timeoutMs', { timeoutMs: nan }],
  ['INVALID_VALUE', 'timeoutMs', { timeoutMs: 0 }],
  ['INVALID_VALUE', 'timeoutMs', { timeoutMs: -5 }],
  ['INVALID_VALUE', 'stallMs', { stallMs: -1 }],
  ['INVALID_VALUE', 'deadlineMs', { deadlineMs: 0 }],
  ['INVALID_VALUE', 'deadlineMs', { deadlineMs: 2 ** 31 }],
  ['INVALID_VALUE', 'estimatedMs', { estimatedMs: nan }],
  ['INVALID_VALUE', 'estimatedMs', { estimatedMs: -1 }],
  ['INVALID_VALUE', 'estimatedMs', { estimatedMs: infinity }],
  ['INVALID_VALUE', 'retry', { retry: 3 }],
  ['INVALID_VALUE', 'retry', { retry: null }],
  ['INVALID_VALUE', 'retry.maxRetries', { retry: { maxRetries: -1 } }],
  ['INVALID_VALUE', 'retry.maxRetries', { retry: { maxRetries: 1.5 } }],
  ['INVALID_VALUE', 'retry.maxRetries', { retry: { maxRetries: infinity } }],
  ['INVALID_VALUE', 'retry.maxRetries', { retry: { maxRetries: 1001 } }],
  ['INVALID_VALUE', 'retry.maxRetries', { retry: { maxRetries: '3' } }],
  ['INVALID_VALUE', 'retry.delayMs', { retry: { delayMs: infinity } }],
  ['INVALID_VALUE', 'retry.factor', { retry: { factor: 0.5 } }],
  ['INVALID_VALUE', 'retry.factor', { retry: { factor: 101 } }],
  ['INVALID_VALUE', 'retry.maxDelayMs', { retry: { maxDelayMs: nan } }],
  ['INVALID_VALUE', 'retry.jitter', { retry: { jitter: 1.1 } }],
];

describe('a submission that is wrong', () => {
  it.each(BAD)('is refused with %s, names %s and leaves no trace: %o', (code, named, bad) => {
    const world = new World();
    const draft = { group: 'g', resources: { exclusive: ['db'] }, ...(bad as Draft) };
    const error = errorOf(() => world.submit(draft));
    expect(error.code).toBe(code);
    expect(error.message).toContain(named);
    expectNoTrace(world);
  });

  it.each(BAD)(
    'is refused with %s (%s) as a member of a group, with all of the group: %o',
    (code, _, bad) => {
      const world = new World();
      const good = { id: 'good', resources: { exclusive: ['db'], shared: ['cache'] }, deadlineMs: 50 };
      const drafts = [good, { id: 'also good', dependsOn: ['good'] }, bad as Draft, {}];
      expect(errorOf(() => world.submitAll(drafts, { timeoutMs: 100 })).code).toBe(code);
      expectNoTrace(world);
      world.submitAll([good, { id: 'also good', dependsOn: ['good'] }]);
      expect(world.started).toEqual(['good']);
    },
  );

  it.each([
    ['cpu', { cpu: 2.5 }, 2.5, 2],
    ['memoryMb', { memoryMb: 2000 }, 2000, 1000],
    ['ioOperations', { io: 'high' }, 4, 3],
    ['networkOperations', { network: true }, 1, 0],
  ] as const)('is refused if it can never start: %s', (resource, resources, demand, limit) => {
    const limits = { cpu: 2, memoryMb: 1000, ioOperations: 3, networkOperations: 0 };
    const world = new World({ limits });
    const error = errorOf(() => world.submit({ id: 'big', resources }));
    expect(error.code).toBe('IMPOSSIBLE_DEMAND');
    expect(error.details).toEqual({ resource, demand, limit });
    for (const part of ['"big"', resource, String(demand), String(limit)])
      expect(error.message).toContain(part);
    expectNoTrace(world);
  });

  it('lists the valid priorities as data too', () => {
    const error = errorOf(() => new World().submit({ priority: 'asap' as never }));
    expect(error.details).toEqual({
      priority: 'asap',
      valid: ['critical', 'high', 'normal', 'low', 'background', 'medium'],
    });
  });
});

describe('ids', () => {
  it('are refused while another execution has them, within a group too', () => {
    const world = new World();
    world.submit({ id: 'a' });
    expect(errorOf(() => world.submit({ id: 'a' })).code).toBe('DUPLICATE_ID');
    expect(errorOf(() => world.submitAll([{ id: 'b' }, { id: 'b' }])).code).toBe('DUPLICATE_ID');
    expect(errorOf(() => world.submitAll([{ id: 'b' }, { id: 'a' }])).code).toBe('DUPLICATE_ID');
    world.submit({ id: 'b' });
    expect(world.started).toEqual(['a', 'b']);
  });

  it('can be used again when the execution is forgotten, and are kept until then', () => {
    const world = new World({ retainSettled: 2 });
    for (const id of ['a', 'b']) world.succeed(world.submit({ id }));
    expect(errorOf(() => world.submit({ id: 'a' })).code).toBe('DUPLICATE_ID');
    world.succeed(world.submit({ id: 'c' }));
    expect(world.submit({ id: 'a' }).statusName).toBe('running');
    expect(errorOf(() => world.submit({ id: 'b' })).code).toBe('DUPLICATE_ID');
    for (const id of ['d', 'e']) world.succeed(world.submit({ id }));
    expect(['b', 'c', 'd', 'e'].filter((id) => world.scheduler.graph.find(id))).toEqual(['d', 'e']);
  });

  it('are given once, whether or not a group was refused between them', () => {
    const world = new World();
    const ids = [world.submit({}).id];
    errorOf(() => world.submitAll([{}, {}, { dependsOn: ['ghost'] }]));
    ids.push(...world.submitAll([{}, {}]).executions.map(({ id }) => id), world.submit({}).id);
    expect(new Set(ids).size).toBe(4);
    for (const id of ids) expect(world.find(id).id).toBe(id);
  });
});

describe('submitAll', () => {
  it('leaves the state as it was, wherever in the group the error is', () => {
    const good: Draft = {
      resources: { exclusive: ['x'], shared: ['y'] },
      conflictsWith: ['other'],
      deadlineMs: 9,
    };
    const bad = fc.constantFrom<Draft>({ id: 'taken' }, { dependsOn: ['ghost'] }, { timeoutMs: nan });
    fc.assert(
      fc.property(fc.nat(8), fc.nat(8), bad, (before, after, wrong) => {
        const world = new World();
        world.submit({ id: 'taken', resources: { shared: ['y'] } });
        const counts = [...world.scheduler.lifecycle.counts];
        const members = (count: number, prefix: string) =>
          Array.from({ length: count }, (_, index) => ({ ...good, id: `${prefix}${index}` }));
        const drafts = [...members(before, 'b'), wrong, ...members(after, 'a')];
        errorOf(() =>
          world.submitAll(drafts, { name: 'g', failFast: true, timeoutMs: 5, maxConcurrency: 1 }),
        );
        expect(world.scheduler.lifecycle.counts).toEqual(counts);
        expect(
          [...world.scheduler.dispatcher.resources.locks].map(({ name, claims }) => [name, claims]),
        ).toEqual([['y', 1]]);
        world.submitAll([...members(before, 'b'), ...members(after, 'a')]);
      }),
      { numRuns: 50 },
    );
  });

  it('leaves a group that existed as it was', () => {
    const world = new World();
    const { group } = world.submitAll([{}, {}], { name: 'g', maxConcurrency: 1 });
    errorOf(() =>
      world.submitAll([{}, { priority: 'x' as never }], { name: 'g', maxConcurrency: 9, failFast: true }),
    );
    expect(group).toMatchObject({ maxConcurrency: 1, failFast: false, unsettled: 2 });
    expect(world.started).toHaveLength(1);
  });

  it('refuses a member that names another group', () => {
    const world = new World();
    const error = errorOf(() => world.submitAll([{ group: 'g' }, { group: 'other' }], { name: 'g' }));
    expect(error.code).toBe('INVALID_VALUE');
    expect(error.message).toContain('other');
    expectNoTrace(world);
  });

  it.each([
    ['group', { name: '' }],
    ['group', { name: 5 }],
    ['maxConcurrency', { maxConcurrency: 0 }],
    ['maxConcurrency', { maxConcurrency: 1.5 }],
    ['rate', { rate: 5 }],
    ['count', { rate: { count: 0, perMs: 1 } }],
    ['perMs', { rate: { count: 1, perMs: nan } }],
    ['timeoutMs', { timeoutMs: -1 }],
  ])('refuses a wrong %s of the group: %o', (named, options) => {
    const world = new World();
    const error = errorOf(() => world.submitAll([{}], options as never));
    expect(error.code).toBe('INVALID_VALUE');
    expect(error.message).toContain(named);
    expectNoTrace(world);
  });
});

describe('a scheduler', () => {
  it.each<[string, SchedulerOptions]>([
    ['ageingMs', { ageingMs: 0 }],
    ['ageingMs', { ageingMs: nan }],
    ['reserveAfterMs', { reserveAfterMs: -1 }],
    ['graceMs', { graceMs: infinity }],
    ['retainSettled', { retainSettled: 1.5 }],
    ['seed', { seed: -1 }],
    ['limits.concurrency', { limits: { concurrency: 0 } }],
    ['limits.concurrency', { limits: { concurrency: 1.5 } }],
    ['limits.cpu', { limits: { cpu: -1 } }],
    ['limits.memoryMb', { limits: { memoryMb: nan } }],
    ['maxConcurrency of tool t', { limits: { tools: { t: { maxConcurrency: -1 } } } }],
    ['rate of group g.count', { limits: { groups: { g: { rate: { count: 1.5, perMs: 1 } } } } }],
  ])('is not made with a wrong %s: %o', (named, options) => {
    const error = errorOf(() => new Scheduler(SILENT_EFFECTS, options));
    expect(error.code).toBe('INVALID_VALUE');
    expect(error.message).toContain(named);
  });
});
