import type { AttemptDetail, Execution } from '../api/wire.ts';

/** One try of an execution on the timeline. */
export interface Try {
  readonly attempt: number;
  readonly startedAt: number;
  readonly endedAt: number | null;
  readonly outcome: AttemptDetail['outcome'];
  readonly worker: string | null;
}

/** An execution as the page keeps it: its row and its tries. */
export interface Row extends Execution {
  readonly tries: readonly Try[];
}
