import { describe, expect, it } from 'vitest';
import { predictRemaining } from '../../src/core/predict.ts';
import { seededRandom } from '../../src/core/random.ts';
import { amount, isDeep } from '../support/depth.ts';
import {
  alike,
  coverage,
  EXPECTED_COVERAGE,
  linked,
  mixed,
  needingCpu,
  type Shape,
} from './support/coverage.ts';
import { VirtualScheduler } from './support/virtual-scheduler.ts';

const SHAPES: Readonly<Record<string, Shape>> = {
  'independent executions': {
    limits: { concurrency: 8 },
    training: (random) => alike(random, 200),
    work: (random) => alike(random, 1000),
  },
  'very different tools': {
    limits: { concurrency: 16 },
    training: (random) => mixed(random, 200),
    work: (random) => mixed(random, 1000),
  },
  'a wide random graph': {
    limits: { concurrency: 4 },
    training: (random) => mixed(random, 200),
    work: (random) => linked(random, mixed(random, 1000), 60),
  },
  'a narrow random graph, where the longest path decides': {
    limits: { concurrency: 8 },
    training: (random) => mixed(random, 200),
    work: (random) => linked(random, mixed(random, 1000)),
  },
  'executions that share a few processors': {
    limits: { concurrency: 16, cpu: 4 },
    training: (random) => mixed(random, 200),
    work: (random) => needingCpu(mixed(random, 1000)),
  },
  'a tool that may run twice at a time': {
    limits: { concurrency: 16, tools: { build: { maxConcurrency: 2 } } },
    training: (random) => mixed(random, 200),
    work: (random) => mixed(random, 1000),
  },
};

describe('the predicted range of a large group covers the truth in four of five runs', () => {
  it.each(Object.entries(SHAPES).slice(isDeep ? 0 : -1))(
    'for %s, at the start and in the middle',
    (_name, shape) => {
      for (const share of coverage(shape, amount({ quick: 12, deep: 100 }), [0, 0.5])) {
        expect(share).toBeGreaterThanOrEqual(EXPECTED_COVERAGE.least);
        expect(share).toBeLessThanOrEqual(EXPECTED_COVERAGE.most);
      }
    },
    300_000,
  );
});

describe('a prediction', () => {
  it('does no more for a hundred thousand executions than for a thousand', () => {
    const draws = [1000, 100_000].map((count) => {
      const virtual = new VirtualScheduler({ limits: { concurrency: 8 } });
      virtual.submitAll([{ toolName: 'alike', durationMs: 500 }]);
      virtual.run();
      const group = virtual.submitAll(
        Array.from({ length: count }, () => ({ toolName: 'alike', durationMs: 500 })),
      );
      const random = seededRandom(1);
      let drawn = 0;
      predictRemaining(virtual.scheduler, group, virtual.now, () => {
        drawn++;
        return random();
      });
      return drawn;
    });
    expect(draws[0]!).toBeGreaterThan(0);
    expect(draws[1]!).toBeLessThan(1.1 * draws[0]!);
  });
});
