import type { Contestant } from '../harness/scenario.ts';
import { randomLevels } from '../work/priorities.ts';

/** The same for all contestants; what they need of it is made before the clock starts. */
export interface NoOps {
  readonly count: number;
  readonly concurrency: number;
  /** The priority of each task. */
  readonly levels: Uint8Array;
  /** For those that map a list. */
  readonly items: readonly number[];
}

export type NoOpContestant = Contestant<NoOps>;

export function noOpsOf(count: number, concurrency: number): NoOps {
  const items = Array.from({ length: count }, (_, index) => index);
  return { count, concurrency, levels: randomLevels(count), items };
}
