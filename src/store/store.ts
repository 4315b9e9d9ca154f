import type {
  AddedTasks,
  AttemptRecord,
  BatchRecord,
  Completion,
  FailedAttempt,
  NewTask,
  TaskEnd,
  TaskRecord,
  TaskStatus,
} from './records.ts';

/** Which tasks, and how many at once. */
export interface TaskQuery {
  readonly status?: readonly TaskStatus[];
  /** Only tasks behind this number: for the next page. */
  readonly afterSeq?: number;
  /** Only tasks before this number, the last ones first. Not together with `afterSeq`. */
  readonly beforeSeq?: number;
  readonly limit: number;
}

/** Attempts of some tasks, in the order of the tasks. */
export interface AttemptPage {
  readonly attempts: readonly AttemptRecord[];
  /** The number of the last task that was looked at: the next page begins behind it. Undefined at the end. */
  readonly lastSeq: number | undefined;
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
  /**
   * Notes that the run has ended and gives the right back, in one go. Unless it `leavesOpen` what is open, that is not
   * done while there is such a task, which somebody may have added just now: then nothing was changed, and it says false.
   */
  end(at: number, leavesOpen: boolean): Promise<boolean>;
}

/** What was found when a store was opened after a crash. */
export interface Recovery {
  /** Ids of tasks that are open again: running them twice does no harm, or they waited for their next attempt. */
  readonly reopened: readonly { readonly batch: string; readonly id: string }[];
  /** Ids of tasks that were running and have failed with reason `crashed`: a person decides. */
  readonly crashed: readonly { readonly batch: string; readonly id: string }[];
}

/** Something that is asked of the process that runs a batch. */
export interface HolderRequest {
  readonly id: number;
  /** JSON text. */
  readonly body: string;
}

/** What decides about a task, without its texts. */
export interface TaskSummary {
  readonly id: string;
  readonly seq: number;
  readonly function: string;
  readonly status: TaskStatus;
  readonly attempts: number;
  /** Of a skipped one: the id of the task that is the root cause. */
  readonly cause: string | undefined;
}

/** A batch and some of its tasks, read at the same moment. */
export interface BatchWithTasks {
  readonly batch: BatchRecord;
  /** One list for each query. */
  readonly tasks: readonly (readonly TaskRecord[])[];
}

/** The slowest of some tasks. */
export interface SlowestPage {
  /** The slowest first. */
  readonly tasks: readonly TaskRecord[];
  /** The `afterSeq` of those that were not looked at; undefined if these were the last. */
  readonly nextSeq: number | undefined;
}

/**
 * What must survive: batches, their tasks and results. A promise of a writing method is fulfilled when it is safe on
 * disk; writes that come close together are committed together. All or nothing of a call is written. A read is bounded
 * by its arguments and sees one committed state; the next read may see a later one. What is decided by a read may have
 * changed when it is acted on: whatever must not be is checked again by the write, inside its transaction.
 */
export interface Store {
  /** Adds all or, with a duplicate id, none of them; makes the batch where there is none. At least one must be given. */
  addTasks(batch: string, tasks: readonly NewTask[]): Promise<AddedTasks>;
  /** An attempt starts: of an open task, or another one of a running task. Rejects if the task has ended. */
  started(batch: string, seq: number, at: number): Promise<void>;
  /** The current attempt of a running task failed, and another one will follow. */
  attemptFailed(batch: string, seq: number, attempt: FailedAttempt): Promise<void>;
  /**
   * A running or open task has ended. Rejects if it had ended before. `startedAt` notes the start of its last attempt in
   * the same go, where that was not done before. `durationMs` is how long that attempt took, by the monotonic clock.
   */
  ended(
    batch: string,
    seq: number,
    end: TaskEnd,
    at: number,
    startedAt?: number,
    durationMs?: number,
  ): Promise<void>;
  /** The same for many that have completed: all of them or, if one had ended before, none. */
  completed(batch: string, tasks: readonly Completion[]): Promise<void>;
  /** A running task shall be begun anew by a later run: it is open again, and the attempt counts as cancelled. */
  putBack(
    batch: string,
    seq: number,
    message: string,
    at: number,
    startedAt?: number,
    durationMs?: number,
  ): Promise<void>;
  /** Notes that a batch begins a run. */
  batchStarted(batch: string, options: string, at: number): Promise<void>;
  /** Opens again what failed, was cancelled or was skipped (all of it, or the given ids), and says how many. */
  reopen(batch: string, ids?: readonly string[]): Promise<number>;
  /** Ends what is open (all of it, or of the given ids), and says how many. Not while somebody else runs the batch. */
  cancel(batch: string, message: string, ids?: readonly string[]): Promise<number>;
  /** Forgets tasks and results: of a status, or the whole batch. Not while somebody else runs it. Says how many. */
  clear(batch: string, status?: readonly TaskStatus[]): Promise<number>;

  /** All batches, in the order of their making. */
  batches(): Promise<BatchRecord[]>;
  /** Batches that were made before the one with this number, the newest first. */
  batchPage(beforeNumber: number | undefined, limit: number): Promise<BatchRecord[]>;
  /** One batch by its name. */
  batch(name: string): Promise<BatchRecord | undefined>;
  /** One batch with some of its tasks, all of the same moment. */
  batchWithTasks(name: string, queries: readonly TaskQuery[]): Promise<BatchWithTasks | undefined>;
  /** One task by its id. */
  task(batch: string, id: string): Promise<TaskRecord | undefined>;
  /** How tasks stand, by their ids; those that do not exist are left out. */
  tasksById(batch: string, ids: Iterable<string>): Promise<ReadonlyMap<string, TaskSummary>>;
  /** The ids of the tasks that were added last, the newest first. */
  lastIds(batch: string, limit: number): Promise<string[]>;
  /** Tasks in their order, a page at a time. */
  tasks(batch: string, query: TaskQuery): Promise<TaskRecord[]>;
  /** The tasks of the given statuses that took longest from their start to their end, of some behind a number. */
  slowest(
    batch: string,
    status: readonly TaskStatus[],
    afterSeq: number,
    limit: number,
  ): Promise<SlowestPage>;
  /**
   * The result of a completed task, or a part of it, as JSON text. A character belongs to the range in which it begins:
   * ranges that meet make up the whole, and an answer may be up to three bytes longer than asked for.
   */
  result(batch: string, id: string, range?: ResultRange): Promise<string | undefined>;
  /** Whole results by the ids of their tasks; those that have none are left out. */
  results(batch: string, ids: Iterable<string>): Promise<ReadonlyMap<string, string>>;
  /** The same as bytes, cut exactly where it was asked for, through characters too. */
  resultBytes(batch: string, id: string, range: ResultRange): Promise<Buffer | undefined>;

  /** The attempts of at most `limit` tasks, of each the newest hundred; one that waits for its first has none. */
  attempts(
    batch: string,
    query: { readonly afterSeq?: number; readonly limit: number },
  ): Promise<AttemptPage>;
  /** The attempts of one task, the oldest first; of many the newest hundred. */
  attemptsOf(batch: string, id: string): Promise<AttemptRecord[]>;
  /** A number that changes when something was written, by whomever. */
  version(): Promise<number>;

  /** Tells how long each transaction took, from its first write until it was safe. The answer takes the listener away. */
  onCommit(listener: (ms: number) => void): () => void;

  /** Throws BATCH_HELD, naming the holder, while another living process runs the batch. */
  lease(batch: string): Promise<Lease>;
  /** Asks something, as JSON text, of the process that runs a batch. Undefined if no other one does. */
  ask(batch: string, body: string): Promise<number | undefined>;
  /** What the process that runs a batch was asked and has not answered, the oldest first. */
  asked(batch: string): Promise<HolderRequest[]>;
  /** The holder answers, as JSON text. */
  answer(request: number, body: string): Promise<void>;
  /** The answer to a request, as soon as there is one. */
  answerTo(request: number): Promise<string | undefined>;
  /** Takes a request and its answer away. */
  forget(request: number): Promise<void>;
  /**
   * Looks after tasks of processes that died. `isIdempotent` tells of a function whether it may run twice. Of all
   * batches that nobody runs, or of the given one only, which this store may have leased itself: right after the lease,
   * before anything is started, that finds what another has left in between.
   */
  recover(isIdempotent: (functionName: string) => boolean, batch?: string): Promise<Recovery>;
  /** Waits for what is being written, gives back its leases, then closes the file. */
  close(): Promise<void>;
}
