import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { explain } from '../../src/core/explain.ts';
import { WorkerPlacement, type WorkerSpec } from '../../src/core/placement.ts';
import { simulate } from '../../src/core/simulate.ts';
import { validate } from '../../src/core/validate.ts';
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
      { numRuns: amount({ quick: 200, deep: 5000 }), seed: 1 },
    );
  });
});
