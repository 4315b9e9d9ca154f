import { describe, expect, it } from 'vitest';
import type { Execution } from '../../src/core/execution.ts';
import { StatisticsKeeper } from '../../src/engine/statistics.ts';
import { openEngine, openTimedEngine } from './support/engine.ts';
import { HeldTool } from './support/held-tool.ts';

describe('statistics()', () => {
  it('counts everything that was submitted by its status', async () => {
    const engine = openEngine({ maxConcurrency: 3 });
    const tool = new HeldTool<void>();
    const quick = engine.submit({ toolName: 'quick' }, () => {});
    const failed = engine.submit({ toolName: 'fails' }, () => Promise.reject(new Error('broken')));
    engine.submit({ toolName: 'skipped', dependsOn: [failed] }, () => {});
    engine.submit({ toolName: 'cancelled' }, () => {}).cancel();
    await Promise.all([quick.outcome(), failed.outcome()]);
    const held = Array.from({ length: 3 }, () => engine.submit({ toolName: 'held' }, tool.run));
    engine.submit({ toolName: 'queued' }, () => {});
    engine.submit({ toolName: 'pending', dependsOn: [held[0]!] }, () => {});
    await tool.started(3);
    const { submitted, counts } = engine.statistics();
    expect(submitted).toBe(9);
    expect(counts).toEqual({
      pending: 1,
      queued: 1,
      running: 3,
      retrying: 0,
      completed: 1,
      failed: 1,
      cancelled: 1,
      skipped: 1,
    });
  });

  it('knows how long executions ran and waited', async () => {
    const { engine, clock } = openTimedEngine({ maxConcurrency: 1 });
    const group = engine.submitAll([
      { toolName: 'work', run: () => clock.sleep(30) },
      { toolName: 'work', run: () => clock.sleep(30) },
      { toolName: 'work', run: () => clock.sleep(60) },
      { toolName: 'fails', estimatedMs: 1, run: () => Promise.reject(new Error('not counted')) },
    ]);
    await clock.pass(120);
    await group.outcome();
    const { duration, waiting } = engine.statistics();
    expect(duration).toMatchObject({ count: 3, meanMs: 40, maxMs: 60 });
    expect(duration.p50Ms / 30).toBeCloseTo(1, 1);
    expect(duration.p95Ms).toBe(duration.p99Ms);
    expect(duration.p99Ms / 60).toBeCloseTo(1, 1);
    expect(waiting).toMatchObject({ count: 4, maxMs: 120 });
  });

  it('agrees with the outcome of an execution, which waits but once however often it is tried', async () => {
    const { engine, clock } = openTimedEngine({ maxConcurrency: 1 });
    clock.skip(20);
    const first = engine.submit({ toolName: 'first' }, () => Promise.reject(clock.skip(5)));
    const only = engine.submit({ toolName: 'only', dependsOn: [first], onDependencyFailure: 'run' }, () =>
      clock.skip(7),
    );
    const { waitedMs, durationMs } = await only.outcome();
    const { duration, waiting } = engine.statistics();
    expect(duration).toMatchObject({ count: 1, meanMs: durationMs, maxMs: durationMs });
    expect(waiting.count).toBe(2);
    expect([waitedMs, durationMs, waiting.maxMs]).toEqual([5, 7, 5]);
    const retry = { maxRetries: 2, delayMs: 0 };
    await engine.submit({ toolName: 'flaky', retry }, () => Promise.reject(new Error('again'))).outcome();
    expect(engine.statistics()).toMatchObject({ retries: 2, duration: { count: 1 }, waiting: { count: 3 } });
  });

  it('has quantiles that are exact to about 2 %', () => {
    const keeper = new StatisticsKeeper();
    for (let ms = 1; ms <= 1000; ms++) keeper.completed({ startedAt: 7, since: 7 + ms } as Execution);
    const { duration } = keeper.summary([]);
    expect(duration).toMatchObject({ count: 1000, meanMs: 500.5, maxMs: 1000 });
    const off = [duration.p50Ms / 500, duration.p95Ms / 950, duration.p99Ms / 990];
    for (const share of off) expect(Math.abs(share - 1)).toBeLessThan(0.02);
  });

  it('is empty, not undefined, before anything has run', () => {
    const { submitted, retries, abandoned, duration } = openEngine().statistics();
    expect([submitted, retries, abandoned]).toEqual([0, 0, 0]);
    expect(duration).toEqual({ count: 0, meanMs: 0, p50Ms: 0, p95Ms: 0, p99Ms: 0, maxMs: 0 });
  });

  it('shows what is used of each resource, and its limit', async () => {
    const limits = { cpu: 4, memoryMb: 1000, ioOperations: 10, networkOperations: 3 };
    const engine = openEngine({ maxConcurrency: 5, limits });
    const tool = new HeldTool<void>();
    const resources = { cpu: 1.5, memoryMb: 300, io: 'high', network: true } as const;
    engine.submit({ toolName: 'heavy', resources }, tool.run);
    engine.submit({ toolName: 'light' }, tool.run);
    const first = await tool.started();
    const second = await tool.started(2);
    expect(engine.statistics().utilization).toMatchObject({
      concurrency: { used: 2, limit: 5 },
      cpu: { used: 1.6, limit: 4 },
      memoryMb: { used: 400, limit: 1000 },
      ioOperations: { used: 5, limit: 10 },
      networkOperations: { used: 1, limit: 3 },
    });
    first.finish();
    second.finish();
    await engine.drain();
    expect(engine.statistics().utilization.cpu).toEqual({ used: 0, limit: 4 });
  });

  it('stays the same for executions that the engine has forgotten', async () => {
    const engine = openEngine({ retainSettled: 0 });
    await engine
      .submitAll(Array.from({ length: 100 }, () => ({ toolName: 'quick', run: () => {} })))
      .outcome();
    expect(engine.statistics()).toMatchObject({ submitted: 100, counts: { completed: 100 } });
  });
});
