import type { CacheStore } from '../coordinator/result-cache.ts';
import type { Spending } from '../runners/runner.ts';
import type { StoreFeed } from './feed.ts';
import type {
  AddedTasks,
  AttemptRecord,
  BatchRecord,
  CacheUse,
  Completion,
  Delivery,
  FailedAttempt,
  KeptOutput,
  NewTask,
  OutputChunk,
  OutputLine,
  StoredBlob,
  StoredUsage,
  TaskEnd,
  TaskOptions,
  TaskRecord,
  TaskStatus,
} from './records.ts';
import type { SharedServers } from './shared-servers.ts';

/** Selects tasks, and how many at once. */
export interface TaskQuery {
  readonly status?: readonly TaskStatus[];
  /** Only tasks after this number: for the next page. */
  readonly afterSeq?: number;
  /** Only tasks before this number, last ones first. Not together with `afterSeq`. */
  readonly beforeSeq?: number;
  readonly limit: number;
  /** Whether to leave out the items of groups. */
  readonly withoutItems?: boolean;
}

/** The items of a group, in order. */
export type ItemQuery = Pick<TaskQuery, 'status' | 'afterSeq' | 'limit'>;

/** How an item of a group ended. */
export interface ItemResult {
  readonly seq: number;
  readonly status: TaskStatus;
  /** As JSON, if it completed and the result is not too large for the page. */
  readonly result: string | undefined;
}

/** Attempts of some tasks, in task order. */
export interface AttemptPage {
  readonly attempts: readonly AttemptRecord[];
  /** The number of the last inspected task: the next page starts after it. Undefined at the end. */
  readonly lastSeq: number | undefined;
}

/** Lines that follow each other. */
export interface OutputPage {
  readonly firstLine: number;
  readonly lines: readonly OutputLine[];
}

/** A byte range of a result in UTF-8. */
export interface ResultRange {
  readonly offset: number;
  readonly length: number;
}

/** The exclusive right of a process to run a batch. It is renewed automatically until it is released. */
export interface Lease {
  readonly batch: string;
  /** Grows each time the batch is leased. A holder's writes are refused once a later one exists. */
  readonly epoch: number;
  /** Aborted when the lease is lost: this process slept too long, and another took the batch over. */
  readonly lost: AbortSignal;
  /** Releases the lease. */
  release(): Promise<void>;
  /**
   * Records the end of the run and releases the lease, atomically. Without `leavesOpen` it returns false and changes
   * nothing if there is an open task, which may have been added just now.
   */
  end(at: number, leavesOpen: boolean): Promise<boolean>;
}

/** What recovery found after a crash. */
export interface Recovery {
  /** Ids of reopened tasks: they are idempotent, or waited for their next attempt. */
  readonly reopened: readonly { readonly batch: string; readonly id: string }[];
  /** Ids of tasks that were running and failed with reason `crashed`: a person decides. */
  readonly crashed: readonly { readonly batch: string; readonly id: string }[];
}

/** A request to the process that runs a batch. */
export interface HolderRequest {
  readonly id: number;
  /** The request as JSON. */
  readonly body: string;
}

/** A task's status and cause, without its strings. */
export interface TaskSummary {
  readonly id: string;
  readonly seq: number;
  readonly function: string;
  readonly status: TaskStatus;
  readonly attempts: number;
  /** If skipped: the id of the task that is the root cause. */
  readonly cause: string | undefined;
  /** If it is an item: the number of its group. */
  readonly groupSeq: number | undefined;
}

/** An open task without its arguments. */
export interface TaskOutline {
  readonly seq: number;
  readonly id: string;
  readonly function: string;
  readonly options: TaskOptions;
}

/** How a task ended without completing. */
export type Unsuccessful = Exclude<TaskEnd, { status: 'completed' }>;

/** A batch and some of its tasks, from one snapshot. */
export interface BatchWithTasks {
  readonly batch: BatchRecord;
  /** One list for each query. */
  readonly tasks: readonly (readonly TaskRecord[])[];
}

/** The slowest of some tasks. */
export interface SlowestPage {
  /** Slowest first. */
  readonly tasks: readonly TaskRecord[];
  /** The `afterSeq` of the next page; undefined if this was the last. */
  readonly nextSeq: number | undefined;
}

/**
 * Durable storage of batches, their tasks and results. A write resolves when it is safe on disk; writes close together
 * are committed together. Each call is atomic. A read is bounded by its arguments and sees one committed state; the
 * next read may see a later one. A decision based on a read may be outdated: every write checks its preconditions again
 * inside its transaction.
 */
export interface Store extends CacheStore {
  /**
   * What becomes durable, for live events, if processes on several machines share the store.
   *
   * @internal
   */
  readonly feed?: StoreFeed;
  /**
   * Whether writes wait for a server, so that other work should go on meanwhile.
   *
   * @internal
   */
  readonly isRemote?: boolean;
  /**
   * Adds all tasks or, if an id is a duplicate, none. Creates the batch if necessary. At least one task is required.
   */
  addTasks(batch: string, tasks: readonly NewTask[]): Promise<AddedTasks>;
  /** Adds items to a group, all or, if an id is a duplicate, none. At least one is required. */
  addItems(batch: string, groupSeq: number, items: readonly NewTask[]): Promise<AddedTasks>;
  /** Ends all open items of a group and returns their number. */
  endItems(batch: string, groupSeq: number, end: Unsuccessful, at: number): Promise<number>;
  /** Ends all open tasks, with their items, and returns their number. */
  endOpen(batch: string, end: Unsuccessful, at: number): Promise<number>;
  /** Records the next deliveries to a program, of which there have been `before`. */
  delivered(batch: string, groupSeq: number, before: number, deliveries: readonly Delivery[]): Promise<void>;
  /** Stores what a program has logged, in place of what was stored before. */
  logged(batch: string, groupSeq: number, text: string): Promise<void>;
  /** Starts an attempt of an open task, or another one of a running task. Rejects if the task has ended. */
  started(batch: string, seq: number, at: number): Promise<void>;
  /** Records on which worker of a cluster the current attempt of a running task runs. */
  placed(batch: string, seq: number, worker: string): Promise<void>;
  /** Records that the current attempt of a running task failed and another will follow. */
  attemptFailed(batch: string, seq: number, attempt: FailedAttempt): Promise<void>;
  /**
   * Ends a running or open task. Rejects if it had already ended. `startedAt` records the start of its last attempt in
   * the same write, if not recorded before. `durationMs` is the duration of that attempt, by the monotonic clock.
   */
  ended(
    batch: string,
    seq: number,
    end: TaskEnd,
    at: number,
    startedAt?: number,
    durationMs?: number,
  ): Promise<void>;
  /** Ends many completed tasks: all or, if one had already ended, none. */
  completed(batch: string, tasks: readonly Completion[]): Promise<void>;
  /** Adds what a call of a model or an agent cost to its task and its batch. */
  spent(batch: string, seq: number, spending: Spending): Promise<void>;
  /** Reopens a running task for a later run; the attempt counts as cancelled. */
  putBack(
    batch: string,
    seq: number,
    message: string,
    at: number,
    startedAt?: number,
    durationMs?: number,
  ): Promise<void>;
  /** Records the start of a batch run. */
  batchStarted(batch: string, options: string, at: number): Promise<void>;
  /**
   * Reopens failed, cancelled and skipped tasks (all, or the given ids) and returns their number. A group is reopened
   * with such items, and a single item with its group. The items of a running group cannot be reopened, and the calls
   * of a program only together: a reopened program starts over, without its calls and deliveries.
   */
  reopen(batch: string, ids?: readonly string[]): Promise<number>;
  /**
   * Cancels open tasks (all, or the given ids; a group with its items) and returns their number. Not while another
   * process runs the batch.
   */
  cancel(batch: string, message: string, ids?: readonly string[]): Promise<number>;
  /**
   * Deletes tasks and results: of some statuses, or the whole batch. The items of a group are deleted with it, and only
   * then. Not while another process runs the batch. Returns the number of deleted tasks.
   */
  clear(batch: string, status?: readonly TaskStatus[]): Promise<number>;

  /** All batches, in order of creation. */
  batches(): Promise<BatchRecord[]>;
  /** Batches created before the one with this number, newest first. */
  batchPage(beforeNumber: number | undefined, limit: number): Promise<BatchRecord[]>;
  /** One batch by its name. */
  batch(name: string): Promise<BatchRecord | undefined>;
  /** One batch with some of its tasks, from one snapshot. */
  batchWithTasks(name: string, queries: readonly TaskQuery[]): Promise<BatchWithTasks | undefined>;
  /** One task by its id. */
  task(batch: string, id: string): Promise<TaskRecord | undefined>;
  /** The states of tasks by id; unknown ids are omitted. */
  tasksById(batch: string, ids: Iterable<string>): Promise<ReadonlyMap<string, TaskSummary>>;
  /** What the latest measured tasks of these functions used, over all batches. */
  usages(functions: ReadonlySet<string>): Promise<ReadonlyMap<string, readonly StoredUsage[]>>;
  /** The ids of the most recently added tasks, newest first. */
  lastIds(batch: string, limit: number): Promise<string[]>;
  /** Tasks in order, a page at a time. */
  tasks(batch: string, query: TaskQuery): Promise<TaskRecord[]>;
  /** The open tasks that are no items, without their arguments, in order, a page at a time. */
  outlines(batch: string, query: Pick<TaskQuery, 'afterSeq' | 'limit'>): Promise<TaskOutline[]>;
  /** Those of the tasks with these numbers that are open, in the order of the numbers. */
  openTasks(batch: string, seqs: readonly number[]): Promise<TaskRecord[]>;
  /** The items of a group in order, a page at a time. */
  items(batch: string, groupSeq: number, query: ItemQuery): Promise<TaskRecord[]>;
  /** How many items of a group have each status. */
  itemCounts(batch: string, groupSeq: number): Promise<Readonly<Record<TaskStatus, number>>>;
  /** The items of a group after a number, with their results as long as these have at most `maxBytes` together. */
  itemResults(
    batch: string,
    groupSeq: number,
    query: { readonly afterSeq: number; readonly limit: number; readonly maxBytes: number },
  ): Promise<ItemResult[]>;
  /** The deliveries to a program from a position on, in order. */
  deliveries(batch: string, groupSeq: number, from: number, limit: number): Promise<Delivery[]>;
  /** What a program has logged; undefined if nothing. */
  log(batch: string, id: string): Promise<string | undefined>;
  /** The tasks of the given statuses with the longest duration, from a page after a number. Groups only wait. */
  slowest(
    batch: string,
    status: readonly TaskStatus[],
    afterSeq: number,
    limit: number,
  ): Promise<SlowestPage>;
  /**
   * The result of a completed task, or a part of it, as JSON. A character belongs to the range in which it starts:
   * adjacent ranges form the whole, and the part may be up to three bytes longer than requested.
   */
  result(batch: string, id: string, range?: ResultRange): Promise<string | undefined>;
  /** Whole results by task id; tasks without one are omitted. */
  results(batch: string, ids: Iterable<string>): Promise<ReadonlyMap<string, string>>;
  /** The same as bytes, cut exactly as requested, even within a character. */
  resultBytes(batch: string, id: string, range: ResultRange): Promise<Buffer | undefined>;
  /** Binary data that results of the batch refer to. */
  blob(batch: string, id: string): Promise<StoredBlob | undefined>;

  /** The attempts of at most `limit` tasks, the newest hundred of each; a task that waits for its first has none. */
  attempts(
    batch: string,
    query: { readonly afterSeq?: number; readonly limit: number },
  ): Promise<AttemptPage>;
  /** The attempts of one task, oldest first; at most the newest hundred. */
  attemptsOf(batch: string, id: string): Promise<AttemptRecord[]>;
  /**
   * Adds lines that attempts of a batch have printed. Drops the oldest lines of a task that has more than `maxTaskBytes`
   * then. Lines of tasks that are gone are ignored.
   */
  addOutput(batch: string, chunks: readonly OutputChunk[], maxTaskBytes: number): Promise<void>;
  /** Drops the oldest output of all batches until at most `maxBytes` are left. Returns how many bytes were dropped. */
  trimOutput(maxBytes: number): Promise<number>;
  /** The attempts of a task of which output is kept, in order. */
  outputOf(batch: string, id: string): Promise<KeptOutput[]>;
  /**
   * The lines of an attempt from a number on, or from the first one that is kept: some 64 KB of them, more if a single
   * line is longer. Undefined if there are none.
   */
  output(batch: string, id: string, attempt: number, fromLine: number): Promise<OutputPage | undefined>;
  /** A number that changes with every write by any process. */
  version(): Promise<number>;

  /** What is cached, by function, the largest first. */
  cacheUse(): Promise<CacheUse[]>;
  /** Deletes all cached results and returns their number. */
  clearCache(): Promise<number>;

  /**
   * Reports how long each transaction took, from its first write until it was safe. Returns a function that removes the
   * listener.
   */
  onCommit(listener: (ms: number) => void): () => void;

  /**
   * Throws BATCH_HELD, naming the holder, while another living process runs the batch. With `continues` it goes on with
   * the run of a process that died; otherwise it begins a new one.
   */
  lease(batch: string, options?: { readonly continues: boolean }): Promise<Lease>;
  /** Sends a request, as JSON, to the process that runs a batch. Undefined if no other process does. */
  ask(batch: string, body: string): Promise<number | undefined>;
  /** The unanswered requests to the process that runs a batch, oldest first. */
  asked(batch: string): Promise<HolderRequest[]>;
  /** Stores the holder's answer, as JSON. */
  answer(request: number, body: string): Promise<void>;
  /** The answer to a request, once there is one. */
  answerTo(request: number): Promise<string | undefined>;
  /** Deletes a request and its answer. */
  forget(request: number): Promise<void>;
  /**
   * Recovers the tasks of dead processes. `isIdempotent` says whether a function may run twice; groups always may. Covers all batches that
   * no process runs, or only the given one, which this store may have just leased: called right after the lease, before
   * anything is started, it finds what another process left.
   */
  recover(isIdempotent: (functionName: string) => boolean, batch?: string): Promise<Recovery>;
  /**
   * The servers that share the store; undefined if it is for one machine.
   *
   * @internal
   */
  readonly servers?: SharedServers | undefined;
  /** Waits for pending writes, releases its leases, then closes the file. */
  close(): Promise<void>;
}
