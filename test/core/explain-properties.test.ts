import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { explain } from '../../src/core/explain.ts';
import { predictRemaining } from '../../src/core/predict.ts';
import { seededRandom } from '../../src/core/random.ts';
import { amount } from '../support/depth.ts';
import { heal, play } from './support/play.ts';
import { scripts } from './support/script.ts';
import type { World } from './support/world.ts';

function explainAll(world: World): string[] {
  const executions = [...world.monitor.specs.keys()];
  return executions.map((execution) => explain(world.scheduler, execution, world.now).text);
}

describe('explanations and predictions, whatever happened before', () => {
  it('change nothing', () => {
    fc.assert(
      fc.property(scripts, (script) => {
        const asked = play(script);
        explainAll(asked);
        predictRemaining(asked.scheduler, undefined, asked.now, seededRandom(1));
        heal(asked, script);
        const left = play(script);
        heal(left, script);
        expect(asked.log).toEqual(left.log);
      }),
      { numRuns: amount({ quick: 10, deep: 100 }) },
    );
  });

  it('give the same answer to the same question', () => {
    fc.assert(
      fc.property(scripts, (script) => {
        const world = play(script);
        const predict = () => predictRemaining(world.scheduler, undefined, world.now, seededRandom(7));
        expect(explainAll(world)).toEqual(explainAll(world));
        expect(predict()).toEqual(predict());
      }),
      { numRuns: amount({ quick: 10, deep: 100 }) },
    );
  });

  it('tell nobody that it is next once the scheduler has looked', () => {
    fc.assert(
      fc.property(scripts, (script) => {
        const world = play(script);
        for (const execution of world.monitor.specs.keys()) {
          const explanation = explain(world.scheduler, execution, world.now);
          if (explanation.reason === 'turn') expect(explanation.ahead.overall).toBeGreaterThan(0);
        }
      }),
      { numRuns: amount({ quick: 15, deep: 150 }) },
    );
  });
});
