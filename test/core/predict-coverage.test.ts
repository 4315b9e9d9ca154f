import { describe, expect, it } from 'vitest';
import type { Random } from '../../src/core/random.ts';
import { amount, casesOf } from '../support/depth.ts';
import {
  alike,
  coverage,
  EXPECTED_COVERAGE,
  linked,
  lognormalMs,
  mixed,
  needingCpu,
  type Shape,
} from './support/coverage.ts';
import type { Work } from './support/virtual-scheduler.ts';

const SHAPES: Readonly<Record<string, Shape>> = {
  'independent executions with a long tail on four slots': {
    limits: { concurrency: 4 },
    training: (random) => alike(random, 100),
    work: (random) => alike(random, 50),
  },
  'a tool of which little was seen': {
    limits: { concurrency: 4 },
    training: (random) => alike(random, 10),
    work: (random) => alike(random, 50),
  },
  'random graphs': {
    limits: { concurrency: 4 },
    training: (random) => mixed(random, 150),
    work: (random) => linked(random, mixed(random, 80)),
  },
  'very different tools': {
    limits: { concurrency: 6 },
    training: (random) => mixed(random, 100),
    work: (random) => mixed(random, 100),
  },
  'executions that share a few processors': {
    limits: { concurrency: 16, cpu: 4 },
    training: (random) => mixed(random, 100),
    work: (random) => needingCpu(mixed(random, 80)),
  },
  'random graphs that share a few processors': {
    limits: { concurrency: 16, cpu: 6 },
    training: (random) => mixed(random, 100),
    work: (random) => needingCpu(linked(random, mixed(random, 100))),
  },
  'estimates of the caller that are too short by a factor': {
    limits: { concurrency: 4 },
    training: (random) => optimistic(random, 60),
    work: (random) => optimistic(random, 80),
  },
};

/** The caller knows what each takes on average, but for a factor that is the same for all. */
function optimistic(random: Random, count: number): Work[] {
  return Array.from({ length: count }, () => {
    const estimatedMs = lognormalMs(random, 500, 1);
    return { toolName: 'optimistic', estimatedMs, durationMs: lognormalMs(random, 1.7 * estimatedMs, 0.3) };
  });
}

describe('the predicted range covers the truth in four of five runs', () => {
  it.each(casesOf(Object.entries(SHAPES), 2))(
    'for %s, at the start, in the middle and near the end',
    (_name, shape) => {
      for (const share of coverage(shape, amount({ quick: 24, deep: 200 }), [0, 0.4, 0.8])) {
        expect(share).toBeGreaterThanOrEqual(EXPECTED_COVERAGE.least);
        expect(share).toBeLessThanOrEqual(EXPECTED_COVERAGE.most);
      }
    },
    300_000,
  );
});
