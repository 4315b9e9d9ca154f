import { setTimeout } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  defaultConfig,
  defineTool,
  ParallelExecutionEngine,
  ParallelToolCoordinator,
} from '../../src/index.ts';
import { gate } from './support.ts';

/** The performance tests of the document that asked for the engine, against the public classes alone. */

describe('concurrency', () => {
  it('makes independent calls at least twice as fast as one after the other', async () => {
    const coordinator = new ParallelToolCoordinator({ config: defaultConfig() });
    onTestFinished(() => coordinator.close({ cancel: true }));
    const run = ({ input }: { input: number }) => setTimeout(20, input);
    coordinator.register(defineTool<{ input: number }>({ name: 'compute_intensive', run }));
    const calls = Array.from({ length: 20 }, (_, input) => ({
      name: 'compute_intensive',
      arguments: { input },
    }));
    // A busy machine may slow down a parallel run, but not each of some.
    const speedups: number[] = [];
    while (speedups.length < 5 && !speedups.some((speedup) => speedup > 2)) {
      let start = performance.now();
      for (const call of calls) await coordinator.executeParallel([call]);
      const sequentialMs = performance.now() - start;
      start = performance.now();
      const results = await coordinator.executeParallel(calls);
      speedups.push(sequentialMs / (performance.now() - start));
      expect(results.every(({ status }) => status === 'completed')).toBe(true);
    }
    expect(Math.max(...speedups), speedups.join(', ')).toBeGreaterThan(2);
  });

  it.each([1, 4, 16, 64])('scales: %i at once are really at once', async (maxConcurrency) => {
    await using engine = new ParallelExecutionEngine({ maxConcurrency, limits: { cpu: 64 } });
    const opened = gate();
    let inside = 0;
    const run = async () => {
      if (++inside === maxConcurrency) opened.open();
      await opened.passed;
    };
    const resources = { io: 'none' } as const;
    const items = Array.from({ length: 2 * maxConcurrency }, () => ({ toolName: 'work', resources, run }));
    expect((await engine.submitAll(items).outcome()).succeeded).toBe(true);
  });
});

describe('stress', () => {
  const limits = { cpu: 4, memoryMb: 8192, ioOperations: 50 };

  it('runs 1,000 tools, up to 100 at once but never more', async () => {
    await using engine = new ParallelExecutionEngine({ maxConcurrency: 100, limits });
    const opened = gate();
    let inside = 0;
    let most = 0;
    const run = async () => {
      most = Math.max(most, ++inside);
      if (inside === 100) opened.open();
      await opened.passed;
      inside--;
    };
    const resources = { cpu: 0.04, memoryMb: 80, io: 'none' } as const;
    const handles = Array.from({ length: 1000 }, (_, index) =>
      engine.submit({ toolName: `tool_${index}`, resources }, run),
    );
    await Promise.all(handles.map((handle) => handle.wait()));
    expect(engine.statistics().counts.completed).toBe(1000);
    expect(most).toBe(100);
  });

  it('runs as many as the scarcest resource allows', async () => {
    await using engine = new ParallelExecutionEngine({ maxConcurrency: 100, limits });
    const opened = gate();
    let inside = 0;
    let most = 0;
    const run = async () => {
      most = Math.max(most, ++inside);
      if (inside === 40) opened.open();
      await opened.passed;
      inside--;
    };
    // By default each takes a tenth of a core, of which there are 4.
    const items = Array.from({ length: 200 }, () => ({ toolName: 'quick', run }));
    expect((await engine.submitAll(items).outcome()).succeeded).toBe(true);
    expect(most).toBe(40);
  });

  it('keeps up with 100,000 tools, and keeps little of each', async () => {
    await using engine = new ParallelExecutionEngine({ maxConcurrency: 100 });
    const start = performance.now();
    const items = Array.from({ length: 100_000 }, () => ({ toolName: 'quick', run: () => {} }));
    expect((await engine.submitAll(items).outcome()).succeeded).toBe(true);
    // A tenth of a second on a quick machine; wide enough for a very busy one.
    expect(performance.now() - start).toBeLessThan(30_000);
  });

  it('recovers from exhausted resources and failing tools', async () => {
    await using engine = new ParallelExecutionEngine({
      maxConcurrency: 8,
      limits: { cpu: 1, memoryMb: 100 },
    });
    const resources = { cpu: 1, memoryMb: 100, exclusive: ['device'] };
    const handles = Array.from({ length: 200 }, (_, index) =>
      engine.submit({ toolName: 'greedy', resources }, () => {
        if (index % 3 === 0) throw new Error('broken');
      }),
    );
    const outcomes = await Promise.all(handles.map((handle) => handle.outcome()));
    expect(outcomes.filter(({ status }) => status === 'completed')).toHaveLength(133);
    expect(engine.statistics().utilization).toMatchObject({ cpu: { used: 0 }, memoryMb: { used: 0 } });
  });

  it('lets short tools pass long ones', async () => {
    await using engine = new ParallelExecutionEngine({ maxConcurrency: 2 });
    const opened = gate();
    const long = engine.submit({ toolName: 'long' }, () => opened.passed);
    const short = Array.from({ length: 100 }, () => engine.submit({ toolName: 'short' }, () => {}));
    await Promise.all(short.map((handle) => handle.wait()));
    expect(long.status).toBe('running');
    opened.open();
    await long.wait();
  });
});
