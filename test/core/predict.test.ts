import { describe, expect, it } from 'vitest';
import type { Group } from '../../src/core/group.ts';
import { predictRemaining, type TimeLeft } from '../../src/core/predict.ts';
import { seededRandom } from '../../src/core/random.ts';
import type { SchedulerLimits } from '../../src/core/scheduler-options.ts';
import type { GroupSpec } from '../../src/core/spec.ts';
import { VirtualScheduler, type Work } from './support/virtual-scheduler.ts';

const STEP_MS = 100;

/** A scheduler that has often seen the tools `step` and `other` take 100 ms. */
function trained(limits: SchedulerLimits): VirtualScheduler {
  const virtual = new VirtualScheduler({ limits: { concurrency: 1000 } });
  virtual.submitAll([...steps(200), ...steps(200, { toolName: 'other' })]);
  virtual.run();
  virtual.scheduler.limit(limits);
  return virtual;
}

function steps(count: number, more: Partial<Work> = {}): Work[] {
  return Array.from({ length: count }, () => ({ toolName: 'step', durationMs: STEP_MS, ...more }));
}

function left({ scheduler, now }: VirtualScheduler, group?: Group): TimeLeft | undefined {
  return predictRemaining(scheduler, group, now, seededRandom(1));
}

/** Expects a prediction near the given time, with the time in its range. */
function expectNear(found: TimeLeft | undefined, ms: number): void {
  expect(found!.lowMs).toBeLessThanOrEqual(ms);
  expect(found!.highMs).toBeGreaterThanOrEqual(ms);
  expect(found!.expectedMs).toBeGreaterThan(0.85 * ms);
  expect(found!.expectedMs).toBeLessThan(1.15 * ms);
}

function expectedMs(limits: SchedulerLimits, works: Work[], options: GroupSpec = {}): number {
  const virtual = trained(limits);
  const group = virtual.submitAll(works, options);
  return left(virtual, group)!.expectedMs;
}

describe('the time left', () => {
  it('is nothing when nothing is left', () => {
    expect(left(trained({}))).toEqual({ lowMs: 0, expectedMs: 0, highMs: 0 });
  });

  it('is not known while nothing is known of the durations', () => {
    const virtual = new VirtualScheduler({ limits: { concurrency: 1 } });
    virtual.submitAll(steps(3));
    expect(left(virtual)).toBeUndefined();
  });

  it('is not known for many executions either', () => {
    const virtual = new VirtualScheduler({ limits: { concurrency: 1 } });
    virtual.submitAll(steps(1000));
    expect(left(virtual)).toBeUndefined();
  });

  it('is the work divided by the slots', () => {
    const virtual = trained({ concurrency: 2 });
    virtual.submitAll(steps(40));
    expectNear(left(virtual), 2000);
  });

  it('is the longest path where that is longer', () => {
    const virtual = trained({ concurrency: 8 });
    const chain = steps(20).map((step, index) => ({
      ...step,
      id: `c${index}`,
      dependsOn: index === 0 ? [] : [`c${index - 1}`],
    }));
    virtual.submitAll([...steps(20), ...chain]);
    expectNear(left(virtual), 2000);
  });

  it('shrinks while an execution runs', () => {
    const virtual = trained({ concurrency: 1 });
    virtual.submit({ toolName: 'step', durationMs: STEP_MS });
    virtual.now += 70;
    expectNear(left(virtual), 30);
  });

  it('is what callers expect where nothing was learned', () => {
    const virtual = new VirtualScheduler({ limits: { concurrency: 1 } });
    virtual.submitAll(steps(30, { estimatedMs: 200 }));
    const found = left(virtual)!;
    expect(found.lowMs).toBeLessThan(6000);
    expect(found.highMs).toBeGreaterThan(6000);
  });

  it('corrects the estimates of callers by how they came true', () => {
    const virtual = new VirtualScheduler({ limits: { concurrency: 1 } });
    virtual.submitAll(steps(100, { estimatedMs: 50 }));
    virtual.run();
    virtual.submitAll(steps(20, { estimatedMs: 150 }));
    expectNear(left(virtual), 6000);
  });

  it('takes an unknown tool for as long as the known ones, and is less sure of it', () => {
    const virtual = trained({ concurrency: 1 });
    const known = virtual.submitAll(steps(20), { name: 'known' });
    const sure = left(virtual, known)!;
    virtual.run();
    const unknown = virtual.submitAll(steps(20, { toolName: 'unknown' }), { name: 'unknown' });
    virtual.submitAll(steps(1));
    const unsure = left(virtual, unknown)!;
    expect(unsure.lowMs).toBeLessThan(2000);
    expect(unsure.highMs).toBeGreaterThan(2000);
    expect(unsure.highMs - unsure.lowMs).toBeGreaterThan(3 * (sure.highMs - sure.lowMs));
  });

  it('knows of the pause before a retry', () => {
    const virtual = trained({ concurrency: 1 });
    const execution = virtual.submit({
      toolName: 'step',
      durationMs: 5000,
      retry: { maxRetries: 1, delayMs: 2000, jitter: 0 },
    });
    virtual.scheduler.fail(execution, 1, { reason: 'error' }, virtual.now);
    expectNear(left(virtual), 2100);
  });

  it('takes a pause as over', () => {
    const virtual = trained({ concurrency: 1 });
    virtual.scheduler.pause();
    virtual.submitAll(steps(10));
    expectNear(left(virtual), 1000);
  });

  it('takes a limit below the demand as raised', () => {
    const virtual = trained({ concurrency: 4, cpu: 4 });
    virtual.submitAll(steps(10, { resources: { cpu: 4 } }));
    virtual.scheduler.limit({ cpu: 2 });
    expectNear(left(virtual), 1000);
  });
});

describe('the time left knows of each limit', () => {
  const concurrency = 10;
  const works = steps(40);

  it.each<[string, SchedulerLimits, Work[], GroupSpec]>([
    ['concurrency', { concurrency: 2 }, works, {}],
    ['resources', { concurrency, cpu: 2 }, steps(40, { resources: { cpu: 1 } }), {}],
    ['the tool', { concurrency, tools: { step: { maxConcurrency: 2 } } }, works, {}],
    ['the group', { concurrency }, works, { maxConcurrency: 2 }],
    ['a rate', { concurrency, tools: { step: { rate: { count: 2, perMs: 100 } } } }, works, {}],
    ['the rate of a group', { concurrency }, works, { rate: { count: 2, perMs: 100 } }],
  ])('of %s', (_name, limits, limited, options) => {
    expect(expectedMs({ concurrency }, works)).toBeLessThan(600);
    const found = expectedMs(limits, limited, options);
    expect(found).toBeGreaterThan(1700);
    expect(found).toBeLessThan(2300);
  });

  it('of a lock', () => {
    expect(expectedMs({ concurrency }, steps(20, { resources: { exclusive: ['db'] } }))).toBeGreaterThan(
      1700,
    );
    expect(expectedMs({ concurrency }, steps(20, { resources: { shared: ['db'] } }))).toBeLessThan(400);
  });

  it('of tools that exclude each other', () => {
    const both = [...steps(10), ...steps(10, { toolName: 'other' })];
    const apart = [...steps(10), ...steps(10, { toolName: 'other', conflictsWith: ['step'] })];
    const room = { concurrency: 20 };
    expect(expectedMs(room, apart)).toBeGreaterThan(1.5 * expectedMs(room, both));
  });

  it('of a lock that very many want', () => {
    expect(expectedMs({ concurrency }, steps(600, { resources: { exclusive: ['db'] } }))).toBeGreaterThan(
      50_000,
    );
  });
});

describe('the time left of a group', () => {
  it('includes the time that others take before it', () => {
    const virtual = trained({ concurrency: 2 });
    virtual.submitAll(steps(40), { name: 'others' });
    expectNear(left(virtual, virtual.submitAll(steps(20), { name: 'asked' })), 3000);
  });

  it('leaves out what is less urgent, though it came earlier', () => {
    const virtual = trained({ concurrency: 1 });
    virtual.submitAll(steps(20, { toolName: 'other', priority: 'low' }));
    const urgent = virtual.submitAll(steps(5, { priority: 'high' }));
    const found = left(virtual, urgent);
    // One of the others runs already.
    expectNear(found, 600);
    expect(Object.values(found!).every(Number.isInteger)).toBe(true);
  });

  it('leaves out what comes after it', () => {
    const virtual = trained({ concurrency: 2 });
    const group = virtual.submitAll(steps(20), { name: 'asked' });
    virtual.submitAll(steps(40), { name: 'others' });
    expectNear(left(virtual, group), 1000);
  });

  it.each([20, 600])('of %i executions includes the time that very many others take before it', (count) => {
    const virtual = trained({ concurrency: 4 });
    virtual.submitAll(steps(1000), { name: 'others' });
    const group = virtual.submitAll(steps(count), { name: 'asked' });
    expectNear(left(virtual, group), ((1000 + count) * STEP_MS) / 4);
  });

  it('leaves out very many others that are less urgent', () => {
    const virtual = trained({ concurrency: 4 });
    virtual.submitAll(steps(1000), { name: 'others' });
    const group = virtual.submitAll(steps(40, { priority: 'critical' }), { name: 'asked' });
    expectNear(left(virtual, group), 1100);
  });

  it('counts the group alone, and the time left of everything counts all', () => {
    const virtual = trained({ concurrency: 1 });
    const group = virtual.submitAll(steps(10), { name: 'asked' });
    virtual.submitAll(steps(10), { name: 'others' });
    expectNear(left(virtual, group), 1000);
    expectNear(left(virtual), 2000);
  });
});
