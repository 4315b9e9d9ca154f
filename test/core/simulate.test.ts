import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type SimulatedExecution, simulate } from '../../src/core/simulate.ts';

const work = (
  id: string,
  durationMs: number,
  rest: Partial<SimulatedExecution> = {},
): SimulatedExecution => ({
  id,
  toolName: 'tool',
  durationMs,
  ...rest,
});

describe('a simulation', () => {
  it('takes as long as the longest where all fit, and as long as the sum where one does', () => {
    const three = [work('a', 100), work('b', 200), work('c', 150)];
    expect(simulate(three, {}).makespanMs).toBe(200);
    expect(simulate(three, { concurrency: 1 }).makespanMs).toBe(450);
  });

  it('gives every attempt with its start and its end, and what became of each execution', () => {
    const graph = [
      work('last', 10, { dependsOn: ['first'] }),
      work('first', 30),
      work('skipped', 5, { dependsOn: ['bad'] }),
      work('bad', 1, { failures: 1 }),
    ];
    const { schedule, statuses, makespanMs } = simulate(graph, {});
    expect(statuses).toEqual(['completed', 'completed', 'skipped', 'failed']);
    expect(schedule).toEqual([
      { index: 1, attempt: 1, startMs: 0, endMs: 30 },
      { index: 3, attempt: 1, startMs: 0, endMs: 1 },
      { index: 0, attempt: 1, startMs: 30, endMs: 40 },
    ]);
    expect(makespanMs).toBe(40);
  });

  it('knows limits in time: a virtual attempt that is stopped ends at once', () => {
    const slow = work('slow', 1000, { timeoutMs: 100, retry: { maxRetries: 1, delayMs: 50, jitter: 0 } });
    const { schedule, statuses, makespanMs } = simulate([slow, work('next', 10, { priority: 'low' })], {
      concurrency: 1,
    });
    expect(statuses).toEqual(['failed', 'completed']);
    expect(schedule.map(({ index, startMs, endMs }) => [index, startMs, endMs])).toEqual([
      [0, 0, 100],
      [1, 100, 110],
      [0, 150, 250],
    ]);
    expect(makespanMs).toBe(250);
  });

  it('can retry at the very moment of a timeout without a grace period', () => {
    const slow = work('slow', 1000, { timeoutMs: 100, retry: { maxRetries: 3, delayMs: 0 } });
    const others = Array.from({ length: 5 }, (_, index) => work(`other ${index}`, 150));
    const { schedule, statuses } = simulate([slow, ...others], {}, { graceMs: 0 });
    expect(statuses).toEqual(['failed', ...Array(5).fill('completed')]);
    expect(schedule.filter(({ index }) => index === 0).map(({ startMs, endMs }) => [startMs, endMs])).toEqual(
      [
        [0, 100],
        [100, 200],
        [200, 300],
        [300, 400],
      ],
    );
  });

  it('measures the use of each resource over the whole time', () => {
    const { utilization } = simulate(
      [work('a', 100, { resources: { cpu: 2 } }), work('b', 50, { resources: { cpu: 1 } })],
      { cpu: 4 },
    );
    expect(utilization.cpu).toEqual({ meanUsed: 2.5, limit: 4 });
    expect(utilization.concurrency.meanUsed).toBe(1.5);
  });

  it('rounds durations to whole milliseconds, and knows what never succeeds', () => {
    const retry = { maxRetries: 2, delayMs: 10, jitter: 0, factor: 1 };
    const endless = work('endless', 1.6, { failures: Number.POSITIVE_INFINITY, retry });
    expect(simulate([endless], {})).toMatchObject({
      makespanMs: 26,
      statuses: ['failed'],
      schedule: [
        { attempt: 1, startMs: 0, endMs: 2 },
        { attempt: 2, startMs: 12, endMs: 14 },
        { attempt: 3, startMs: 24, endMs: 26 },
      ],
    });
  });

  it('ends where there is nothing to do', () => {
    expect(simulate([], {})).toMatchObject({ makespanMs: 0, schedule: [], statuses: [] });
    for (const works of [[], [work('at once', 0)]])
      expect(simulate(works, { concurrency: 2 }).utilization.concurrency).toEqual({ meanUsed: 0, limit: 2 });
  });

  it('gives another schedule for another seed where durations are drawn', () => {
    const drawing: SimulatedExecution = { toolName: 'draws', durationMs: (random) => 1000 * random() };
    const makespans = [1, 2, 3].map((seed) => simulate([drawing], {}, { seed }).makespanMs);
    expect(new Set(makespans).size).toBe(3);
  });

  it('refuses what the engine would refuse, and durations that are no durations', () => {
    expect(() => simulate([work('a', 1, { resources: { cpu: 9 } })], { cpu: 4 })).toThrow('limits.cpu');
    expect(() => simulate([work('a', Number.NaN)], {})).toThrow('durationMs');
    expect(() => simulate([work('a', -1)], {})).toThrow('durationMs');
    expect(() => simulate([work('a', 1, { dependsOn: ['ghost'] })], {})).toThrow('ghost');
  });

  it.each<[string, unknown[]]>([
    ['simulate takes a list', [null, {}]],
    ['An execution must be an object', [[null], {}]],
    ['The limits of a simulation', [[], null]],
    ['The options of a simulation', [[], {}, null]],
    ['durationMs must be a number', [[{ toolName: 'a' }], {}]],
    ['durationMs must be a number', [[{ toolName: 'a', durationMs: () => 'long' }], {}]],
    ['failures must be a whole number', [[{ toolName: 'a', durationMs: 1, failures: -1 }], {}]],
  ])('says of wrong input that %s', (message, input) => {
    expect(() => simulate(...(input as Parameters<typeof simulate>))).toThrow(message);
  });

  it('gives the same schedule for the same seed, within every bound that is known without it', () => {
    const execution = fc.record({
      durationMs: fc.nat(100),
      failures: fc.nat(2),
      cpu: fc.constantFrom(0.5, 1, 2),
      after: fc.option(fc.nat(100), { nil: undefined }),
    });
    fc.assert(
      fc.property(fc.array(execution, { minLength: 1, maxLength: 30 }), fc.nat(100), (list, seed) => {
        const executions = list.map(({ durationMs, failures, cpu, after }, index) => ({
          id: `e${index}`,
          toolName: 'tool',
          durationMs: (random: () => number) => durationMs * (0.5 + random()),
          failures,
          resources: { cpu },
          retry: { maxRetries: 1, delayMs: 20 },
          ...(after !== undefined && index > 0 && { dependsOn: [`e${after % index}`] }),
        }));
        const result = simulate(executions, { concurrency: 3, cpu: 2 }, { seed });
        expect(simulate(executions, { concurrency: 3, cpu: 2 }, { seed })).toEqual(result);
        const busyMs = result.schedule.reduce((sum, { startMs, endMs }) => sum + endMs - startMs, 0);
        expect(result.makespanMs).toBeGreaterThanOrEqual(busyMs / 3);
        expect(result.utilization.cpu.meanUsed).toBeLessThanOrEqual(2);
        for (const status of result.statuses) expect(['completed', 'failed', 'skipped']).toContain(status);
      }),
    );
  });
});
