import type { Contestant } from '../harness/scenario.ts';

interface Drain {
  readonly count: number;
  readonly concurrency: number;
  readonly levels: Uint8Array;
  /** To be called when everything is submitted, in the same turn: from then on the event loop is watched. */
  submitted(): void;
}

export type DrainContestant = Contestant<Drain>;
