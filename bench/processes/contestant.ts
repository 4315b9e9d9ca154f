import type { Contestant } from '../harness/scenario.ts';

export interface ProcessWork {
  /** How often `/bin/true` is run. */
  readonly count: number;
  readonly concurrency: number;
}

export interface ProcessContestant extends Contestant<ProcessWork> {
  /** What is not measured; called while this process is still small. */
  prepare(work: ProcessWork): Promise<void>;
  close(): Promise<void>;
}
