import { afterEach, expect } from 'vitest';
import { type EngineOptions, ParallelExecutionEngine } from '../../../src/index.ts';

const opened: ParallelExecutionEngine[] = [];

/** An engine that is closed after the test; a tool that is still held open then is given up soon. */
export function openEngine(options: EngineOptions = {}): ParallelExecutionEngine {
  const engine = new ParallelExecutionEngine({ graceMs: 20, ...options });
  opened.push(engine);
  return engine;
}

/** Every test ends with the question whether all room came back. */
afterEach(async () => {
  for (const engine of opened.splice(0)) {
    await engine.close({ cancel: true });
    const used = Object.values(engine.statistics().utilization).map((usage) => usage.used);
    expect(new Set(used)).toEqual(new Set([0]));
  }
});
