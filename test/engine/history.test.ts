import { describe, expect, it } from 'vitest';
import { ResourceAccounts } from '../../src/core/resources.ts';
import { AllocationHistory } from '../../src/engine/history.ts';
import { openEngine, openTimedEngine } from './support/engine.ts';
import { HeldTool } from './support/held-tool.ts';
import { ManualClock } from './support/manual-clock.ts';

describe('the allocation history', () => {
  it('says who held what, and from when to when', async () => {
    const { engine, clock } = openTimedEngine();
    const resources = { cpu: 0.5, memoryMb: 200, io: 'medium', network: true } as const;
    await engine.submit({ toolName: 'work', id: 'w', resources }, () => clock.skip(20)).wait();
    const [record, ...rest] = engine.allocationHistory();
    expect(rest).toEqual([]);
    expect(record).toMatchObject({
      executionId: 'w',
      toolName: 'work',
      attempt: 1,
      amounts: { concurrency: 1, cpu: 0.5, memoryMb: 200, ioOperations: 2, networkOperations: 1 },
    });
    expect(record).toMatchObject({ from: clock.epoch, until: clock.epoch + 20 });
  });

  it('has a record of each attempt', async () => {
    const engine = openEngine();
    const handle = engine.submit(
      { toolName: 'flaky', retry: { maxRetries: 2, delayMs: 1 } },
      ({ attempt }) => {
        if (attempt < 3) throw new Error('again');
      },
    );
    await handle.wait();
    expect(engine.allocationHistory().map((record) => record.attempt)).toEqual([1, 2, 3]);
  });

  it('keeps the latest, the oldest of them first', async () => {
    const engine = openEngine({ maxConcurrency: 1, allocationHistorySize: 3 });
    const items = Array.from({ length: 7 }, (_, index) => ({
      toolName: 'quick',
      id: `q${index}`,
      run: () => {},
    }));
    await engine.submitAll(items).outcome();
    expect(engine.allocationHistory().map((record) => record.executionId)).toEqual(['q4', 'q5', 'q6']);
  });

  it('has a record of each time that one held its room, where it lent that to a child', async () => {
    const { engine, clock } = openTimedEngine({ maxConcurrency: 1 });
    const parent = engine.submit({ toolName: 'parent', id: 'parent' }, async ({ submit }) => {
      await submit({ toolName: 'child', id: 'child' }, () => clock.skip(20)).wait();
      clock.skip(30);
    });
    await parent.wait();
    const records = engine.allocationHistory();
    expect(records.map(({ executionId }) => executionId)).toEqual(['parent', 'child', 'parent']);
    const times = records.map(({ from, until }) => [from - clock.epoch, until - clock.epoch]);
    expect(times).toEqual([
      [0, 0],
      [0, 20],
      [20, 50],
    ]);
  });

  it('dates a later attempt by its own start, where one before it had lent its room', async () => {
    const { engine, clock } = openTimedEngine({ maxConcurrency: 2 });
    const retry = { maxRetries: 1, delayMs: 0 };
    const parent = engine.submit({ toolName: 'parent', id: 'p', retry }, async ({ attempt, submit }) => {
      if (attempt === 2) return;
      await submit({ toolName: 'child', id: 'c' }, () => {}).wait();
      await engine.submit({ toolName: 'other', id: 'o' }, () => {}).wait();
      clock.skip(5);
      throw new Error('again');
    });
    await parent.wait();
    const records = engine.allocationHistory();
    expect(records.map(({ executionId }) => executionId)).toEqual(['p', 'c', 'o', 'p', 'p']);
    for (const { from, until } of records) expect(from).toBeLessThanOrEqual(until);
    expect(records[4]!.from).toBeGreaterThanOrEqual(records[3]!.until);
  });

  it('has nothing of what never held anything', async () => {
    const engine = openEngine();
    engine.submit({ toolName: 'cancelled' }, () => {}).cancel();
    await engine.drain();
    expect(engine.allocationHistory()).toEqual([]);
  });
});

describe('the utilization history', () => {
  it('ends with the present', async () => {
    const { engine, clock } = openTimedEngine();
    await engine.submit({ toolName: 'work' }, () => clock.skip(5)).wait();
    await engine.drain();
    expect(engine.utilizationHistory().at(-1)!.used.concurrency).toBe(0);
  });

  it('samples the use of each resource over time', async () => {
    const { engine, clock } = openTimedEngine({ limits: { cpu: 4 } });
    const tool = new HeldTool<void>();
    const held = engine.submit({ toolName: 'held', resources: { cpu: 2 } }, tool.run);
    await tool.started();
    // Quick ones give the engine occasions to look while the held one runs.
    for (let round = 0; round < 10; round++) {
      await engine.submit({ toolName: 'work', resources: { cpu: 1 } }, () => clock.skip(15)).wait();
    }
    tool.finish();
    await held.wait();
    const samples = engine.utilizationHistory();
    expect(samples.length).toBeGreaterThanOrEqual(2);
    expect(samples.length).toBeLessThanOrEqual(512);
    expect([2, 3]).toContain(Math.max(...samples.map(({ used }) => used.cpu)));
    const times = samples.map(({ at }) => at);
    expect(times).toEqual([...times].sort((a, b) => a - b));
  });

  it('keeps all of the past in view, ever more coarsely', () => {
    const history = new AllocationHistory(1, new ManualClock(), new ResourceAccounts());
    const samples = () => history.utilization().slice(0, -1);
    history.observe(0);
    const [first] = samples();
    let now = 0;
    for (const until of [100_000, 1_000_000, 10_000_000]) {
      for (; now < until; now += 50) history.observe(now);
      const times = samples().map(({ at }) => at);
      expect(times[0]).toBe(first!.at);
      expect(times.length).toBeGreaterThan(200);
      expect(times.length).toBeLessThanOrEqual(512);
      const gaps = times.slice(1).map((at, index) => at - times[index]!);
      expect(Math.max(...gaps)).toBeLessThanOrEqual(until / 200);
      expect(times.at(-1)! - times[0]!).toBeGreaterThan(until * 0.95);
    }
  });
});
