/** Somebody who keeps a batch of no-ops, runs it, and has all results in the end. */
export interface BatchContestant {
  /** Before the clock starts: servers, connections, folders. */
  prepare(): Promise<void>;
  /** Adds so many no-ops in bulk, and returns when all have run and their ends are kept. */
  run(count: number): Promise<void>;
  close(): Promise<void>;
}

/** So many run at the same time, with everybody. */
export const CONCURRENCY = 64;
