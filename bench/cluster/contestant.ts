/** Somebody who runs no-ops in two worker processes and has all results in the end. */
export interface ClusterContestant {
  /** Before the clock starts: the server, and workers that run `concurrency` calls together. */
  prepare(concurrency: number): Promise<void>;
  /** Returns when so many no-ops have run and their ends are known here. */
  run(count: number): Promise<void>;
  /** The memory of the queue's server in use, in MB. */
  serverMb?(): Promise<number>;
  /** Kills a worker that runs calls. Returns the time until all of them run again, on the other one. */
  restartMs?(calls: number): Promise<number>;
  /** Cancels one of several running calls. Returns the time until the tool on the worker was told. */
  cancelMs?(): Promise<number>;
  close(): Promise<void>;
}

export const WORKERS = 2;
