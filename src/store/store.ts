import type { BatchRecord, NewTask, TaskEnd, TaskRecord, TaskStatus } from './records.ts';

/** Which tasks, and how many at once. */
export interface TaskQuery {
  readonly status?: readonly TaskStatus[];
  /** Only tasks behind this number: for the next page. */
  readonly afterSeq?: number;
  readonly limit: number;
}

/** A part of a result, in bytes of UTF-8. */
export interface ResultRange {
  readonly offset: number;
  readonly length: number;
}

/** The right of one process to run a batch. It is renewed by itself until it is released. */
export interface Lease {
  readonly batch: string;
  /** Aborted when the right was lost: this process slept too long, and another took the batch over. */
  readonly lost: AbortSignal;
  /** Gives the right back. */
  release(): Promise<void>;
}

/** What was found when a store was opened after a crash. */
export interface Recovery {
  /** Ids of tasks that were running and are open again, because running them twice does no harm. */
  readonly reopened: readonly { readonly batch: string; readonly id: string }[];
  /** Ids of tasks that were running and have failed with reason `crashed`: a person decides. */
  readonly crashed: readonly { readonly batch: string; readonly id: string }[];
}

/**
 * What must survive: batches, their tasks and results. A promise of a writing method is fulfilled when it is safe on
 * disk; writes that come close together are committed together. Reading is synchronous and bounded by its arguments.
 * All or nothing of a call is written.
 */
export interface Store {
  /** Adds all or, with a duplicate id, none of them; makes the batch where there is none. */
  addTasks(batch: string, tasks: readonly NewTask[]): Promise<TaskRecord[]>;
  /** An attempt starts: of an open task, or another one of a running task. Rejects if the task has ended. */
  started(batch: string, seq: number, at: number): Promise<void>;
  /** A running or open task has ended. Rejects if it had ended before. */
  ended(batch: string, seq: number, end: TaskEnd, at: number): Promise<void>;
  /** Notes that a batch begins or ends a run. */
  batchStarted(batch: string, options: string, at: number): Promise<void>;
  /** Notes that a run has ended. */
  batchEnded(batch: string, at: number): Promise<void>;
  /** Opens again what failed, was cancelled or was skipped (all of it, or the given ids), and says how many. */
  reopen(batch: string, ids?: readonly string[]): Promise<number>;
  /** Forgets tasks and results: of a status, or the whole batch. Not while somebody else runs it. Says how many. */
  clear(batch: string, status?: readonly TaskStatus[]): Promise<number>;

  /** All batches, in the order of their making. */
  batches(): BatchRecord[];
  /** One batch by its name. */
  batch(name: string): BatchRecord | undefined;
  /** One task by its id. */
  task(batch: string, id: string): TaskRecord | undefined;
  /** Tasks in their order, a page at a time. */
  tasks(batch: string, query: TaskQuery): TaskRecord[];
  /**
   * The result of a completed task, or a part of it, as JSON text. A character belongs to the range in which it begins:
   * ranges that meet make up the whole, and an answer may be up to three bytes longer than asked for.
   */
  result(batch: string, id: string, range?: ResultRange): string | undefined;

  /** Throws BATCH_HELD, naming the holder, while another living process runs the batch. */
  lease(batch: string): Promise<Lease>;
  /**
   * Looks after tasks of processes that died. `isIdempotent` tells of a function whether it may run twice. Of all
   * batches that nobody runs, or of the given one only, which this store may have leased itself: right after the lease,
   * before anything is started, that finds what another has left in between.
   */
  recover(isIdempotent: (functionName: string) => boolean, batch?: string): Promise<Recovery>;
  /** Waits for what is being written, gives back its leases, then closes the file. */
  close(): Promise<void>;
}
