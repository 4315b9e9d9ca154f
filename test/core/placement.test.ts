import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { explain } from '../../src/core/explain.ts';
import { WorkerPlacement, type WorkerSpec } from '../../src/core/placement.ts';
import { predictRemaining } from '../../src/core/predict.ts';
import { seededRandom } from '../../src/core/random.ts';
import { simulate } from '../../src/core/simulate.ts';
import { validate } from '../../src/core/validate.ts';
import { loadAfter, WorkerIndex } from '../../src/core/worker-index.ts';
import { amount } from '../support/depth.ts';
import { VirtualScheduler, type Work } from './support/virtual-scheduler.ts';

const none = { cpu: 0, memoryMb: 0, io: 'none' } as const;
const cores = (cpu: number) => ({ ...none, cpu });

function scheduled(workers: readonly WorkerSpec[], rule?: 'spread' | 'pack') {
  const virtual = new VirtualScheduler({});
  const placement = new WorkerPlacement(rule);
  virtual.scheduler.usePlacement(placement);
  for (const worker of workers) placement.join(worker);
  const submit = (rest: Partial<Work> = {}) => {
    const execution = virtual.submit({ toolName: 'tool', durationMs: 100, resources: none, ...rest });
    validate(virtual.scheduler);
    return execution;
  };
  const change = (what: (placement: WorkerPlacement) => void) => {
    virtual.scheduler.changeWorkers(what);
    virtual.scheduler.advance(virtual.now);
  };
  const why = (execution: ReturnType<typeof submit>) => explain(virtual.scheduler, execution, virtual.now);
  return { virtual, submit, change, why };
}

describe('placement', () => {
  it('starts an execution only where all of its needs fit at once', () => {
    const { submit, why } = scheduled([
      { id: 'cores', capacity: { cpu: 8, memoryMb: 100 } },
      { id: 'memory', capacity: { cpu: 1, memoryMb: 8000 } },
    ]);
    const both = submit({ resources: { ...none, cpu: 4, memoryMb: 4000 } });
    expect(both.statusName).toBe('queued');
    expect(why(both)).toMatchObject({
      reason: 'worker',
      shortage: { lacks: 'resource', isPossible: false, resource: 'memoryMb', needed: 4000, most: 100 },
    });
    expect(submit({ resources: { ...none, memoryMb: 4000 } }).worker).toBe('memory');
  });

  it('counts named resources, of which a worker that does not name them has none', () => {
    const { submit, change, why } = scheduled([
      { id: 'a', capacity: { resources: { gpu: 2 } } },
      { id: 'b' },
    ]);
    const first = submit({ resources: { ...none, gpu: 2 } });
    const second = submit({ resources: { ...none, gpu: 1 } });
    expect([first.worker, second.statusName]).toEqual(['a', 'queued']);
    expect(why(second)).toMatchObject({ shortage: { lacks: 'resource', resource: 'gpu', free: 0, most: 2 } });
    change((placement) => placement.join({ id: 'c', capacity: { resources: { tpu: 1, gpu: 1 } } }));
    expect(second.worker).toBe('c');
    const other = submit({ resources: { ...none, tpu: 1 } });
    expect(other.worker).toBe('c');
  });

  it('spreads by load, or packs', () => {
    const workers = ['a', 'b'].map((id) => ({ id, capacity: { cpu: 4 } }));
    const spread = scheduled(workers);
    expect([1, 1, 1].map((cpu) => spread.submit({ resources: cores(cpu) }).worker)).toEqual(['a', 'b', 'a']);
    const pack = scheduled(workers, 'pack');
    expect([1, 1, 3].map((cpu) => pack.submit({ resources: cores(cpu) }).worker)).toEqual(['a', 'a', 'b']);
  });

  it('matches labels, and says which one is missing', () => {
    const { submit, change, why } = scheduled([{ id: 'plain', labels: { zone: 'a' } }]);
    const gpu = submit({ on: { gpu: true } });
    expect(why(gpu)).toMatchObject({
      reason: 'worker',
      shortage: { lacks: 'label', label: 'gpu', wanted: true },
    });
    change((placement) => placement.join({ id: 'fast', labels: { gpu: true, zone: 'b' } }));
    expect(gpu.worker).toBe('fast');
    const neither = submit({ on: { gpu: true, zone: 'a' } });
    expect(why(neither)).toMatchObject({ shortage: { lacks: 'labels', wanted: { gpu: true, zone: 'a' } } });
  });

  it('prefers the worker on which a dependency ran', () => {
    const { virtual, submit } = scheduled(['a', 'b', 'c'].map((id) => ({ id, capacity: { cpu: 4 } })));
    submit({ resources: cores(1) });
    const source = submit({ id: 'source', resources: cores(1) });
    expect(source.worker).toBe('b');
    const user = submit({ dependsOn: ['source'], resources: cores(2) });
    virtual.run();
    expect(user.worker).toBe('b');
  });

  it('gives a draining worker nothing new, and places work on one that returns', () => {
    const { virtual, submit, change, why } = scheduled([{ id: 'a' }]);
    const running = submit();
    change((placement) => placement.drain('a'));
    const waiting = submit();
    expect(why(waiting)).toMatchObject({ shortage: { lacks: 'workers' } });
    virtual.run();
    expect([running.statusName, waiting.statusName]).toEqual(['completed', 'queued']);
    change((placement) => placement.leave('a'));
    change((placement) => placement.join({ id: 'a' }));
    expect(waiting.worker).toBe('a');
    validate(virtual.scheduler);
  });

  it('starts what waits when room on a worker becomes free', () => {
    const { virtual, submit, why } = scheduled([{ id: 'a', capacity: { concurrency: 1 } }]);
    submit();
    const second = submit();
    expect(why(second)).toMatchObject({
      shortage: { lacks: 'resource', resource: 'concurrency', isPossible: true },
    });
    virtual.run();
    expect(second.statusName).toBe('completed');
  });

  it('survives a worker that leaves with work on it', () => {
    const { virtual, submit, change } = scheduled([{ id: 'a' }, { id: 'b' }]);
    const execution = submit({ idempotent: true, retry: { maxRetries: 1, delayMs: 0 } });
    expect(execution.worker).toBe('a');
    change((placement) => placement.leave('a'));
    virtual.scheduler.fail(execution, 1, { reason: 'crashed' }, virtual.now);
    virtual.run();
    expect([execution.statusName, execution.worker]).toEqual(['completed', 'b']);
    validate(virtual.scheduler);
  });

  it('ignores labels where there are no workers', () => {
    expect(
      new VirtualScheduler({}).submit({ toolName: 't', durationMs: 1, on: { gpu: true } }).statusName,
    ).toBe('running');
  });

  it.each([{ on: [] }, { on: { gpu: {} } }, { on: 'gpu' }])('refuses %j', (rest) => {
    expect(() => scheduled([]).submit(rest as never)).toThrowError(
      expect.objectContaining({ code: 'INVALID_VALUE' }),
    );
  });
});

describe('a reservation among workers', () => {
  const two = [
    { id: 'large', capacity: { cpu: 4 } },
    { id: 'small', capacity: { cpu: 2 } },
  ];
  /** One that needs all of the large worker has waited long, and something runs there for another 10 s. */
  function waiting() {
    const world = scheduled(two, 'pack');
    const { virtual, submit } = world;
    submit({ id: 'blocker', durationMs: 20_000, estimatedMs: 20_000, resources: cores(3) });
    const reserved = submit({ id: 'reserved', durationMs: 1, estimatedMs: 1e6, resources: cores(4) });
    virtual.now = 10_000;
    virtual.scheduler.advance(virtual.now);
    return { ...world, reserved };
  }

  it('keeps room on one of them, and lets the others take what they can', () => {
    const { submit, why } = waiting();
    const long = { durationMs: 60_000, estimatedMs: 60_000, resources: cores(1) };
    const placed = [0, 1, 2].map(() => submit(long));
    expect(placed.map(({ worker }) => worker)).toEqual(['small', 'small', undefined]);
    expect(why(placed[2]!)).toMatchObject({ reason: 'reservation', reservedFor: { id: 'reserved' } });
  });

  it('lets pass what by estimate ends before the reserved one can start', () => {
    const { submit, virtual, reserved } = waiting();
    for (let index = 0; index < 2; index++) submit({ durationMs: 60_000, resources: cores(1) });
    const inTime = submit({ durationMs: 10_000, estimatedMs: 10_000, resources: cores(1) });
    expect(inTime.worker).toBe('large');
    virtual.run();
    expect([reserved.worker, reserved.startedAt]).toEqual(['large', 20_000]);
  });

  it('moves to another worker if its own leaves', () => {
    const { submit, change, reserved } = waiting();
    change((placement) => placement.join({ id: 'next', capacity: { cpu: 4 } }));
    expect(reserved.worker).toBe('next');
    const other = submit({ id: 'other', durationMs: 1, resources: cores(4) });
    change((placement) => placement.leave('large'));
    change((placement) => placement.join({ id: 'last', capacity: { cpu: 5 } }));
    expect(other.worker).toBe('last');
  });
});

describe('a prediction with workers', () => {
  it.each([
    { workers: 2, slots: 1, count: 20 },
    { workers: 4, slots: 2, count: 1000 },
    // So many slots that some of the workers stand for all.
    { workers: 100, slots: 16, count: 8000 },
  ])(
    'is that of one machine with as many slots as $workers workers with $slots',
    ({ workers, slots, count }) => {
      const all = Array.from({ length: workers }, (_, index) => ({
        id: `w${index}`,
        capacity: { concurrency: slots },
      }));
      const cluster = scheduled(all).virtual;
      const machine = new VirtualScheduler({ limits: { concurrency: workers * slots } });
      const work = { toolName: 'tool', durationMs: 1000, estimatedMs: 1000, resources: none };
      const [ofCluster, ofMachine] = [cluster, machine].map((virtual) => {
        virtual.submitAll(Array.from({ length: count }, () => work));
        return predictRemaining(virtual.scheduler, undefined, 0, seededRandom(1))!.expectedMs;
      });
      expect(Math.abs(ofCluster! / ofMachine! - 1)).toBeLessThan(workers * slots > 1000 ? 0.25 : 0.001);
    },
  );

  it('treats what fits on no worker as if one joined for it', () => {
    const { virtual, submit } = scheduled([{ id: 'a', capacity: { cpu: 1 } }]);
    submit({ estimatedMs: 1000, resources: cores(2), on: { gpu: true } });
    const { expectedMs } = predictRemaining(virtual.scheduler, undefined, virtual.now, seededRandom(1))!;
    expect(expectedMs).toBeGreaterThan(500);
  });
});

describe('room that was lent', () => {
  it('comes back only when its worker has it', () => {
    const { virtual, submit } = scheduled([{ id: 'a', capacity: { cpu: 1 } }]);
    const parent = submit({ durationMs: 1000, resources: cores(1) });
    virtual.scheduler.lend(parent);
    const child = submit({ durationMs: 100, resources: cores(1) });
    expect(child.worker).toBe('a');
    virtual.scheduler.reclaim(parent);
    virtual.scheduler.advance(virtual.now);
    expect(parent.room).toBe('lent');
    virtual.run(1);
    expect([child.statusName, parent.room]).toEqual(['completed', 'held']);
    validate(virtual.scheduler);
  });
});

describe('the index of workers', () => {
  const limit = fc.constantFrom(1000, 2000, 4000, Number.POSITIVE_INFINITY);
  const worker = fc.record({
    limits: fc.tuple(limit, limit, limit),
    used: fc.tuple(fc.nat(4), fc.nat(4), fc.nat(4)),
  });
  const needs = fc.tuple(fc.constant(1000), fc.nat(4), fc.nat(4)).map(([a, b, c]) => [a, b * 500, c * 500]);

  it.each(['least', 'most'] as const)('finds the %s loaded worker that has room, like a scan', (wanted) => {
    fc.assert(
      fc.property(
        fc.array(worker, { minLength: 1, maxLength: 40 }),
        fc.array(fc.tuple(needs, fc.nat(50), fc.nat(50)), { maxLength: 30 }),
        (specs, steps) => {
          const workers = specs.map(({ limits, used }) => {
            const inUse = used.map((amount) => amount * 500);
            return {
              used: inUse,
              limitOf: (index: number) => limits[index]!,
              usedOf: (index: number) => inUse[index]!,
              roomFor: (index: number) => limits[index]! - inUse[index]!,
            };
          });
          const index = new WorkerIndex(workers, 3, wanted);
          for (const [wants, changed, left] of steps) {
            const except = workers[left];
            const fitting = workers.filter(
              (each) => each !== except && wants.every((need, at) => need === 0 || need <= each.roomFor(at)),
            );
            const best = fitting.reduce<(typeof workers)[number] | undefined>((found, each) => {
              if (found === undefined) return each;
              const gain = loadAfter(found, wants) - loadAfter(each, wants);
              return (wanted === 'least' ? gain > 0 : gain < 0) ? each : found;
            }, undefined);
            expect(index.find(wants, except)).toBe(best);
            const place = changed % workers.length;
            workers[place]!.used[1] = (workers[place]!.used[1]! + 500) % 2500;
            index.update(place);
          }
        },
      ),
      { numRuns: amount({ quick: 80, deep: 5000 }) },
    );
  });
});

describe('a simulation with workers', () => {
  it('says where each attempt ran, and takes as long as the workers need', () => {
    const work = { toolName: 't', durationMs: 100, resources: cores(1) };
    const workers = ['a', 'b'].map((id) => ({ id, capacity: { cpu: 1 } }));
    const { makespanMs, schedule } = simulate([work, work, work, work], {}, { workers });
    expect(makespanMs).toBe(200);
    expect(schedule.map(({ worker }) => worker)).toEqual(['a', 'b', 'a', 'b']);
  });

  it('never exceeds the capacity of a worker', () => {
    const worker = fc.record({
      cpu: fc.integer({ min: 1, max: 8 }),
      memoryMb: fc.integer({ min: 1, max: 8 }),
    });
    const work = fc.record({
      cpu: fc.integer({ min: 0, max: 4 }),
      memoryMb: fc.integer({ min: 0, max: 4 }),
      durationMs: fc.integer({ min: 1, max: 20 }),
    });
    fc.assert(
      fc.property(
        fc.array(worker, { minLength: 1, maxLength: 4 }),
        fc.array(work, { maxLength: 30 }),
        (all, works) => {
          const workers = all.map((capacity, index) => ({ id: `w${index}`, capacity }));
          const executions = works.map(({ durationMs, ...needs }) => ({
            toolName: 't',
            durationMs,
            resources: { ...none, ...needs },
          }));
          const { schedule, statuses } = simulate(executions, {}, { workers });
          for (const { startMs, worker } of schedule) {
            const limit = all[Number(worker!.slice(1))]!;
            const now = schedule.filter(
              (at) => at.worker === worker && at.startMs <= startMs && at.endMs > startMs,
            );
            for (const resource of ['cpu', 'memoryMb'] as const) {
              const used = now.reduce((sum, { index }) => sum + works[index]![resource], 0);
              if (used > limit[resource]) return false;
            }
          }
          const fitsSomewhere = (need: (typeof works)[number]) =>
            all.some(({ cpu, memoryMb }) => need.cpu <= cpu && need.memoryMb <= memoryMb);
          return statuses.every((status, index) => (status === 'completed') === fitsSomewhere(works[index]!));
        },
      ),
      { numRuns: amount({ quick: 80, deep: 5000 }), seed: 1 },
    );
  });
});
