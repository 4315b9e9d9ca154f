import type { Contestant } from '../harness/scenario.ts';

interface QueuedTasks {
  readonly count: number;
  readonly levels: Uint8Array;
  /** Where what a caller is given for each task goes; made before, so that it is not counted. */
  readonly given: unknown[];
}

/** Puts tasks in a queue that starts none of them, and answers the queue. */
export type MemoryContestant = Contestant<QueuedTasks>;
