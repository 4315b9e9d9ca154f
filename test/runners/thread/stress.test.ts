import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../../src/core/random.ts';
import type { RunnerCall } from '../../../src/runners/runner.ts';
import { callOf, TestTask } from './support/call.ts';
import { openRunner } from './support/runner.ts';

const CALLS = 3000;

describe('the thread runner under stress', () => {
  it.each([1, 2])(
    'settles each call exactly once and runs none twice, whatever is stopped when (seed %i)',
    async (seed) => {
      const random = seededRandom(seed);
      const runner = openRunner(3);
      const counter = new Int32Array(new SharedArrayBuffer(4 * CALLS));
      const settled = new Int32Array(CALLS);
      const outcomes: Promise<string>[] = [];
      for (let index = 0; index < CALLS; index++) {
        const task = new TestTask();
        const call = randomCall(random(), { counter, index });
        const end = (how: string) => {
          settled[index]!++;
          return how;
        };
        outcomes.push(
          runner.run(call, task).then(
            (value) => end(value === index ? 'done' : `wrong: ${String(value)}`),
            (error: Error) => end(error.message),
          ),
        );
        // An endless loop is always stopped; some others too, at any moment of their life.
        const mustStop = call.code.kind === 'module' && call.code.exportName === 'countAndLoop';
        if (mustStop || random() < 0.3) setTimeout(() => task.stop(), random() * 50);
        if (random() < 0.02) await new Promise((resolve) => setTimeout(resolve, random() * 4));
      }
      const counts: Record<string, number> = {};
      for (const outcome of await Promise.all(outcomes)) counts[outcome] = (counts[outcome] ?? 0) + 1;
      expect(new Set(Object.keys(counts))).toEqual(new Set(['done', 'stopped', 'broken']));
      expect(settled.every((times) => times === 1)).toBe(true);
      for (const [index, outcome] of (await Promise.all(outcomes)).entries()) {
        const times = counter[index]!;
        if (outcome === 'stopped') expect(times).toBeLessThanOrEqual(1);
        else expect(times, `call ${index}: ${outcome}`).toBe(1);
      }
      expect(await runner.run(callOf('default', 2), new TestTask())).toBe(4);
    },
  );
});

function randomCall(chance: number, input: { counter: Int32Array; index: number }): RunnerCall {
  if (chance < 0.003) return callOf('countAndLoop', input);
  if (chance < 0.1) return callOf('countAndThrow', input);
  if (chance < 0.2) return callOf('countAndWait', input);
  return callOf('count', input);
}
