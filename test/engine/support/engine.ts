import { afterEach, expect } from 'vitest';
import { type EngineOptions, ParallelExecutionEngine } from '../../../src/index.ts';
import { ManualClock } from './manual-clock.ts';

const opened: { readonly engine: ParallelExecutionEngine; readonly clock: ManualClock | undefined }[] = [];

/** An engine that is closed after the test; a tool that is still held open then is given up soon. */
export function openEngine(options: EngineOptions = {}): ParallelExecutionEngine {
  const engine = new ParallelExecutionEngine({ graceMs: 20, ...options });
  opened.push({ engine, clock: options.clock as ManualClock | undefined });
  return engine;
}

/** An engine for which no time passes but what the test lets pass. */
export function openTimedEngine(options: EngineOptions = {}): {
  engine: ParallelExecutionEngine;
  clock: ManualClock;
} {
  const clock = new ManualClock();
  return { engine: openEngine({ graceMs: 5000, ...options, clock }), clock };
}

/** Every test ends with the question whether all room came back. */
afterEach(async () => {
  for (const { engine, clock } of opened.splice(0)) {
    const closing = engine.close({ cancel: true });
    await clock?.pass(2 ** 30);
    await closing;
    const used = Object.values(engine.statistics().utilization).map((usage) => usage.used);
    expect(new Set(used)).toEqual(new Set([0]));
  }
});
