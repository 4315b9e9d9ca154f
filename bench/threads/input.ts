import type { Contestant } from '../harness/scenario.ts';
import { randomLevels } from '../work/priorities.ts';

export const THREADS = 2;

/** The module that all threads load. */
export const WORK = new URL('./work.mjs', import.meta.url);

/** The same for all contestants. */
export interface ThreadCalls {
  readonly count: number;
  /** The function of the module that is called. */
  readonly work: 'noOp' | 'spin';
  /** The priority of each call, for those that have priorities. */
  readonly levels: Uint8Array;
}

/** Its threads live as long as the process, so that starting them is not measured. */
export type ThreadContestant = Contestant<ThreadCalls>;

export function threadCalls(count: number, work: ThreadCalls['work']): ThreadCalls {
  return { count, work, levels: randomLevels(count) };
}
