import { expect, test } from 'vitest';
import { ParallelExecutionEngine } from '../../src/engine/engine.ts';
import { ToolFailure } from '../../src/engine/tool-failure.ts';

test('what functions report is in the statistics, and unclaimed needs follow it', async () => {
  await using engine = new ParallelExecutionEngine({ limits: { memoryMb: 10_000, cpu: 16 } });
  const call = { toolName: 'resize', learnUsage: true };
  await engine.submit(call, ({ used }) => used({ memoryMb: 400, cpu: 1.5 })).wait();
  const [usage] = engine.statistics().usage;
  expect(usage).toMatchObject({
    toolName: 'resize',
    samples: 1,
    memoryMb: { p50: 400, p95: 400, max: 400 },
    cpu: { max: 1.5 },
    claimed: { cpu: 0.1, memoryMb: 100, isLearned: true },
  });
  await engine.submit(call, () => 1).wait();
  await engine.drain();
  const { amounts } = engine.allocationHistory().at(-1)!;
  // A tenth more, rounded up.
  expect(amounts.memoryMb).toBeGreaterThanOrEqual(440);
  expect(amounts.memoryMb).toBeLessThan(450);
  expect(amounts.cpu).toBeGreaterThanOrEqual(1.5);
});

test('an attempt that failed for memory is followed by one that holds what it asked for', async () => {
  await using engine = new ParallelExecutionEngine({ limits: { memoryMb: 1000 } });
  const granted: (number | undefined)[] = [];
  const retry = { maxRetries: 5, delayMs: 0 };
  const handle = engine.submit({ toolName: 'a', resources: { memoryMb: 300 }, retry }, (task) => {
    granted.push(task.grantedMemoryMb);
    const memoryMb = 2 * (task.grantedMemoryMb ?? 300);
    throw new ToolFailure('It needs more.', { reason: 'memory', memoryMb });
  });
  expect(await handle.outcome()).toMatchObject({ status: 'failed', reason: 'memory' });
  // 1200 do not fit, so there is no third attempt.
  expect(granted).toEqual([undefined, 600]);
  await engine.drain();
  expect(engine.allocationHistory().map(({ amounts }) => amounts.memoryMb)).toEqual([300, 600]);
});

test('memory that was granted stays granted after a failure of another kind', async () => {
  await using engine = new ParallelExecutionEngine({ limits: { memoryMb: 1000 } });
  const granted: (number | undefined)[] = [];
  const retry = { maxRetries: 2, delayMs: 0 };
  const handle = engine.submit({ toolName: 'a', resources: { memoryMb: 300 }, retry }, (task) => {
    granted.push(task.grantedMemoryMb);
    if (task.attempt === 1) throw new ToolFailure('It needs more.', { reason: 'memory', memoryMb: 600 });
    throw new Error('another problem');
  });
  await handle.outcome();
  expect(granted).toEqual([undefined, 600, 600]);
});

test('a useless amount in a failure changes nothing', async () => {
  await using engine = new ParallelExecutionEngine();
  const handle = engine.submit({ toolName: 'a', retry: { maxRetries: 1, delayMs: 0 } }, ({ attempt }) => {
    if (attempt === 1) throw new ToolFailure('no', { reason: 'memory', memoryMb: Number.NaN });
    return attempt;
  });
  expect(await handle.wait()).toBe(2);
});
