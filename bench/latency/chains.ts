import type { Contestant } from '../harness/scenario.ts';
import { quantile } from '../harness/statistics.ts';
import { randomLevels } from '../work/priorities.ts';

/** Chains of tasks that note when they start and when they end, in microseconds. */
export interface Chains {
  readonly concurrency: number;
  readonly ids: readonly string[];
  /** The one before in the chain, or none. */
  readonly dependsOn: readonly (readonly string[])[];
  readonly levels: Uint8Array;
  readonly tasks: readonly (() => Promise<void>)[];
  /** The time between the end of each task and the start of the next in its chain, sorted. */
  sortedGapsUs(): Float64Array;
}

export type ChainContestant = Contestant<Chains>;

export function makeChains(chains: number, length: number, concurrency: number): Chains {
  const count = chains * length;
  const starts = new Float64Array(count);
  const ends = new Float64Array(count);
  const ids = Array.from({ length: count }, (_, index) => `task-${index}`);
  return {
    concurrency,
    ids,
    dependsOn: ids.map((_, index) => (index % length === 0 ? [] : [ids[index - 1]!])),
    levels: randomLevels(count),
    tasks: ids.map((_, index) => async () => {
      starts[index] = performance.now();
      ends[index] = performance.now();
    }),
    sortedGapsUs() {
      const gaps = [];
      for (let index = 0; index < count; index++) {
        if (index % length !== 0) gaps.push((starts[index]! - ends[index - 1]!) * 1000);
      }
      return Float64Array.from(gaps).sort();
    },
  };
}

export function gapFigures(chains: Chains) {
  const gaps = chains.sortedGapsUs();
  return { p50Us: quantile(gaps, 0.5), p99Us: quantile(gaps, 0.99) };
}
