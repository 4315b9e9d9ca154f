import { statSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CachedEntry, StoredCachedEntry } from '../coordinator/result-cache.ts';
import { VolleyError } from '../core/errors.ts';
import type { Spending } from '../runners/runner.ts';
import { AttemptWrites } from './attempt-table.ts';
import { BatchTable } from './batch-table.ts';
import { CacheTable } from './cache-table.ts';
import {
  closeDatabase,
  type Database,
  emptyDatabase,
  FreePages,
  lateDatabase,
  openDatabase,
  undoable,
} from './database.ts';
import { Leases } from './leases.ts';
import { OutputTable } from './output-table.ts';
import { ownIdentity, type ProcessIdentity } from './process-identity.ts';
import { Reader } from './reader.ts';
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
  StoredBlob,
  StoredUsage,
  TaskEnd,
  TaskRecord,
  TaskStatus,
} from './records.ts';
import { Requests } from './requests.ts';
import { CANCELLED, keyOf } from './rows.ts';
import type {
  AttemptPage,
  BatchWithTasks,
  HolderRequest,
  ItemQuery,
  ItemResult,
  Lease,
  OutputPage,
  Recovery,
  ResultRange,
  SlowestPage,
  Store,
  TaskOutline,
  TaskQuery,
  TaskSummary,
  Unsuccessful,
} from './store.ts';
import { translated } from './store-error.ts';
import { Recoverer, TaskAdding, TaskChanges } from './task-changes.ts';
import { TaskTable } from './task-table.ts';
import { type Steps, toEnd, WriteQueue } from './write-queue.ts';

/** How often a lease is renewed; far more often than the silence after which it expires. */
const HEARTBEAT_MS = 5000;
/** The longest list that is written together with other writes. */
const SHORT_LIST = 100;

/** Time and process identity, injectable for tests. */
export interface StoreOptions {
  /** The time of day in milliseconds. */
  readonly now?: () => number;
  readonly identity?: ProcessIdentity;
  readonly heartbeatMs?: number;
}

/** Opens the store in a file, creating it and its folder if necessary. */
export async function openStore(file: string, options: StoreOptions = {}): Promise<SqliteStore> {
  const database = await openDatabase(file);
  return new SqliteStore(database, options);
}

/** A store in one SQLite file. */
export class SqliteStore implements Store {
  private readonly now: () => number;
  private readonly heartbeatMs: number;
  private readonly batchTable: BatchTable;
  private readonly adding: TaskAdding;
  private readonly taskTable: TaskTable;
  private readonly attemptWrites: AttemptWrites;
  private readonly changes: TaskChanges;
  private readonly leases: Leases;
  private readonly recoverer: Recoverer;
  private readonly requests: Requests;
  private readonly cache: CacheTable;
  private readonly outputTable: OutputTable;
  private readonly queue: WriteQueue;
  private readonly reader: Reader;
  private heartbeat: NodeJS.Timeout | undefined = undefined;
  private closing: Promise<void> | undefined = undefined;

  constructor(
    private readonly database: Database,
    { now = Date.now, identity = ownIdentity(), heartbeatMs = HEARTBEAT_MS }: StoreOptions,
  ) {
    const { writer } = database;
    this.now = now;
    this.heartbeatMs = heartbeatMs;
    this.batchTable = new BatchTable(writer);
    this.adding = new TaskAdding(writer, this.batchTable);
    this.taskTable = new TaskTable(writer, this.batchTable);
    this.leases = new Leases(writer, identity, this.batchTable, now);
    this.attemptWrites = new AttemptWrites(writer);
    const { batchTable, leases, taskTable, attemptWrites } = this;
    this.changes = new TaskChanges(writer, batchTable, leases, taskTable, attemptWrites);
    this.recoverer = new Recoverer(writer, this.batchTable, this.taskTable, this.changes, this.leases);
    this.requests = new Requests(database);
    this.cache = new CacheTable(database);
    this.outputTable = new OutputTable(database);
    this.queue = new WriteQueue(database, {
      begun: () => {
        this.batchTable.begin();
        this.taskTable.begin();
        this.leases.noticeLost();
      },
      isFull: () => this.taskTable.isFull,
      committing: () => {
        this.taskTable.finish();
        this.batchTable.writeCounts();
      },
    });
    this.reader = new Reader(database.reader, identity, now);
  }

  get file(): string {
    return this.database.file;
  }

  addTasks(batch: string, tasks: readonly NewTask[]): Promise<AddedTasks> {
    const steps = () => this.adding.add(batch, tasks, this.now());
    if (tasks.length > SHORT_LIST) return this.writeInSteps(steps);
    return this.write(() => undoable(this.database.writer, () => toEnd(steps())));
  }

  addItems(batch: string, groupSeq: number, items: readonly NewTask[]): Promise<AddedTasks> {
    const steps = () => {
      this.leases.checkNotLost(batch);
      this.batchTable.existing(batch);
      return this.adding.add(batch, items, this.now(), groupSeq);
    };
    if (items.length > SHORT_LIST) return this.writeInSteps(steps);
    return this.write(() => undoable(this.database.writer, () => toEnd(steps())));
  }

  endItems(batch: string, groupSeq: number, end: Unsuccessful, at: number): Promise<number> {
    return this.writeInSteps(() => {
      this.leases.checkNotLost(batch);
      return this.changes.endItems(batch, groupSeq, end, at);
    });
  }

  endOpen(batch: string, end: Unsuccessful, at: number): Promise<number> {
    return this.writeInSteps(() => {
      this.leases.checkNotLost(batch);
      return this.changes.endOpen(batch, end, at);
    });
  }

  delivered(batch: string, groupSeq: number, before: number, deliveries: readonly Delivery[]): Promise<void> {
    return this.writeOwn(batch, () => this.changes.delivered(batch, groupSeq, before, deliveries));
  }

  logged(batch: string, groupSeq: number, text: string): Promise<void> {
    return this.writeOwn(batch, () => this.changes.logged(batch, groupSeq, text));
  }

  log(batch: string, id: string): Promise<string | undefined> {
    return this.read(() => this.reader.log(batch, id));
  }

  deliveries(batch: string, groupSeq: number, from: number, limit: number): Promise<Delivery[]> {
    return this.read(() => this.reader.deliveries(batch, groupSeq, from, limit));
  }

  started(batch: string, seq: number, at: number): Promise<void> {
    return this.writeOwn(batch, () => this.taskTable.started(batch, seq, at));
  }

  placed(batch: string, seq: number, worker: string): Promise<void> {
    return this.writeOwn(batch, () => this.taskTable.placed(batch, seq, worker));
  }

  ended(
    batch: string,
    seq: number,
    end: TaskEnd,
    at: number,
    startedAt?: number,
    durationMs?: number,
  ): Promise<void> {
    return this.writeOwn(batch, () => this.taskTable.ended(batch, seq, end, at, startedAt, durationMs));
  }

  completed(batch: string, tasks: readonly Completion[]): Promise<void> {
    return this.writeOwn(batch, () => this.taskTable.completed(batch, tasks));
  }

  spent(batch: string, seq: number, spending: Spending): Promise<void> {
    return this.writeOwn(batch, () => this.taskTable.spent(batch, seq, spending));
  }

  attemptFailed(batch: string, seq: number, attempt: FailedAttempt): Promise<void> {
    return this.writeOwn(batch, () =>
      this.attemptWrites.failed(keyOf(this.batchTable.knownId(batch), seq), attempt),
    );
  }

  putBack(
    batch: string,
    seq: number,
    message: string,
    at: number,
    startedAt?: number,
    durationMs?: number,
  ): Promise<void> {
    return this.writeOwn(batch, () => {
      this.taskTable.ended(batch, seq, { status: 'cancelled', message }, at, startedAt, durationMs);
      const batchId = this.batchTable.knownId(batch);
      this.changes.reopenOne(batchId, keyOf(batchId, seq), CANCELLED);
    });
  }

  batchStarted(batch: string, options: string, at: number): Promise<void> {
    return this.write(() => this.batchTable.started(batch, options, at));
  }

  reopen(batch: string, ids?: readonly string[]): Promise<number> {
    return this.writeInSteps(() => this.changes.reopen(batch, ids));
  }

  cancel(batch: string, message: string, ids?: readonly string[]): Promise<number> {
    return this.writeInSteps(() => this.changes.cancel(batch, ids, message, this.now()));
  }

  async clear(batch: string, status?: readonly TaskStatus[]): Promise<number> {
    const cleared = await this.writeInSteps(() => this.changes.clear(batch, status));
    if (cleared > 0) await this.giveBack();
    return cleared;
  }

  batches(): Promise<BatchRecord[]> {
    return this.read(() => this.reader.batches());
  }

  batchPage(beforeNumber: number | undefined, limit: number): Promise<BatchRecord[]> {
    return this.read(() => this.reader.batchPage(beforeNumber, limit));
  }

  batch(name: string): Promise<BatchRecord | undefined> {
    return this.read(() => this.reader.batch(name));
  }

  batchWithTasks(name: string, queries: readonly TaskQuery[]): Promise<BatchWithTasks | undefined> {
    return this.read(() => this.reader.batchWithTasks(name, queries));
  }

  task(batch: string, id: string): Promise<TaskRecord | undefined> {
    return this.read(() => this.reader.task(batch, id));
  }

  tasksById(batch: string, ids: Iterable<string>): Promise<ReadonlyMap<string, TaskSummary>> {
    return this.read(() => this.reader.tasksById(batch, ids));
  }

  usages(functions: ReadonlySet<string>): Promise<Map<string, StoredUsage[]>> {
    return this.read(() => this.reader.usages(functions));
  }

  lastIds(batch: string, limit: number): Promise<string[]> {
    return this.read(() => this.reader.lastIds(batch, limit));
  }

  tasks(batch: string, query: TaskQuery): Promise<TaskRecord[]> {
    return this.read(() => this.reader.tasks(batch, query));
  }

  outlines(batch: string, query: Pick<TaskQuery, 'afterSeq' | 'limit'>): Promise<TaskOutline[]> {
    return this.read(() => this.reader.outlines(batch, query));
  }

  openTasks(batch: string, seqs: readonly number[]): Promise<TaskRecord[]> {
    return this.read(() => this.reader.openTasksOf(batch, seqs));
  }

  items(batch: string, groupSeq: number, query: ItemQuery): Promise<TaskRecord[]> {
    return this.read(() => this.reader.items(batch, groupSeq, query));
  }

  itemCounts(batch: string, groupSeq: number): Promise<Record<TaskStatus, number>> {
    return this.read(() => this.reader.itemCounts(batch, groupSeq));
  }

  itemResults(
    batch: string,
    groupSeq: number,
    query: { readonly afterSeq: number; readonly limit: number; readonly maxBytes: number },
  ): Promise<ItemResult[]> {
    return this.read(() => this.reader.itemResults(batch, groupSeq, query));
  }

  slowest(
    batch: string,
    status: readonly TaskStatus[],
    afterSeq: number,
    limit: number,
  ): Promise<SlowestPage> {
    return this.read(() => this.reader.slowest(batch, status, afterSeq, limit));
  }

  result(batch: string, id: string, range?: ResultRange): Promise<string | undefined> {
    return this.read(() => this.reader.result(batch, id, range));
  }

  results(batch: string, ids: Iterable<string>): Promise<ReadonlyMap<string, string>> {
    return this.read(() => this.reader.results(batch, ids));
  }

  resultBytes(batch: string, id: string, range: ResultRange): Promise<Buffer | undefined> {
    return this.read(() => this.reader.resultBytes(batch, id, range));
  }

  blob(batch: string, id: string): Promise<StoredBlob | undefined> {
    return this.read(() => this.reader.blob(batch, id));
  }

  attempts(
    batch: string,
    query: { readonly afterSeq?: number; readonly limit: number },
  ): Promise<AttemptPage> {
    return this.read(() => this.reader.attempts(batch, query));
  }

  attemptsOf(batch: string, id: string): Promise<AttemptRecord[]> {
    return this.read(() => this.reader.attemptsOf(batch, id));
  }

  cachedResult(key: Uint8Array, maxBytes: number): Promise<StoredCachedEntry | undefined> {
    return this.read(() => this.cache.find(key, maxBytes));
  }

  cacheResults(entries: readonly CachedEntry[]): Promise<void> {
    return this.write(() => this.cache.add(entries));
  }

  cacheUsed(keys: readonly Uint8Array[], at: number): Promise<void> {
    return this.write(() => this.cache.used(keys, at));
  }

  trimCache({ createdAfter, maxBytes }: { createdAfter: number; maxBytes: number }): Promise<number> {
    return this.writeInSteps(() => this.cache.trim(createdAfter, maxBytes));
  }

  cacheUse(): Promise<CacheUse[]> {
    return this.read(() => this.cache.uses());
  }

  clearCache(): Promise<number> {
    return this.writeInSteps(() => this.cache.trim(Number.MAX_SAFE_INTEGER, 0));
  }

  addOutput(batch: string, chunks: readonly OutputChunk[], maxTaskBytes: number): Promise<void> {
    return this.writeOwn(batch, () => {
      const batchId = this.batchTable.knownId(batch);
      for (const chunk of chunks) this.outputTable.add(keyOf(batchId, chunk.seq), chunk, maxTaskBytes);
    });
  }

  async trimOutput(maxBytes: number): Promise<number> {
    const dropped = await this.writeInSteps(() => this.outputTable.trim(maxBytes));
    if (dropped > 0) await this.giveBack();
    return dropped;
  }

  outputOf(batch: string, id: string): Promise<KeptOutput[]> {
    return this.read(() => {
      const key = this.reader.keyOfTask(batch, id);
      return key === undefined ? [] : this.outputTable.keptOf(key);
    });
  }

  output(batch: string, id: string, attempt: number, fromLine: number): Promise<OutputPage | undefined> {
    return this.read(() => {
      const key = this.reader.keyOfTask(batch, id);
      return key === undefined ? undefined : this.outputTable.read(key, attempt, fromLine);
    });
  }

  version(): Promise<number> {
    return this.read(() => this.reader.version());
  }

  onCommit(listener: (ms: number) => void): () => void {
    return this.queue.onCommit(listener);
  }

  async lease(batch: string): Promise<Lease> {
    const held = await this.write(() => {
      const claimed = this.leases.claim(batch);
      this.requests.forgetAll(claimed.batchId);
      return claimed;
    });
    this.heartbeat ??= setInterval(() => this.renew(), this.heartbeatMs).unref();
    return this.leases.keep(held, (apply) => this.write(apply));
  }

  ask(batch: string, body: string): Promise<number | undefined> {
    return this.write(() => {
      const { id } = this.batchTable.existing(batch);
      return this.leases.isHeldByOthers(id) ? this.requests.add(id, body) : undefined;
    });
  }

  asked(batch: string): Promise<HolderRequest[]> {
    return this.read(() => this.requests.unanswered(batch));
  }

  answer(request: number, body: string): Promise<void> {
    return this.write(() => this.requests.answer(request, body));
  }

  answerTo(request: number): Promise<string | undefined> {
    return this.read(() => this.requests.answerTo(request));
  }

  forget(request: number): Promise<void> {
    return this.write(() => this.requests.forget(request));
  }

  recover(isIdempotent: (functionName: string) => boolean, batch?: string): Promise<Recovery> {
    return this.writeInSteps(() => this.recoverer.recover(isIdempotent, batch, this.now()));
  }

  close(): Promise<void> {
    this.closing ??= this.closeOnce();
    return this.closing;
  }

  private async closeOnce(): Promise<void> {
    try {
      await this.queue.idle();
      // A lease that is being written is known only once its promise settles.
      await nextTurn();
      clearInterval(this.heartbeat);
      if (this.leases.count > 0) await this.queue.write(() => this.leases.releaseAll());
    } finally {
      translated(this.file, () => closeDatabase(this.database));
    }
  }

  /** Makes the file smaller, in short transactions. */
  private async giveBack(): Promise<void> {
    const pages = new FreePages(this.database.writer);
    while (await this.write(() => pages.shrink()));
    await this.queue.idle();
    if (this.closing === undefined && !this.database.writer.isTransaction)
      translated(this.file, () => pages.finish());
  }

  /** A failure here also fails the work, which reports it; the next heartbeat tries again. */
  private renew(): void {
    if (this.leases.count > 0) this.write(() => this.leases.renewAll()).catch(() => undefined);
  }

  private write<T>(apply: () => T): Promise<T> {
    return this.closing === undefined ? this.queue.write(apply) : Promise.reject(this.closedError());
  }

  /** Writes to a batch that this store runs, unless another process took it over. */
  private writeOwn(batch: string, apply: () => void): Promise<void> {
    return this.write(() => {
      this.leases.checkNotLost(batch);
      apply();
    });
  }

  private writeInSteps<T>(steps: () => Steps<T>): Promise<T> {
    return this.closing === undefined ? this.queue.writeInSteps(steps) : Promise.reject(this.closedError());
  }

  /** Runs synchronously: the promise is only for the interface. */
  private async read<T>(read: () => T): Promise<T> {
    if (this.closing !== undefined) throw this.closedError();
    return translated(this.file, read);
  }

  private closedError(): VolleyError {
    return new VolleyError('STORE_CLOSED', `The store ${this.file} is closed.`, { file: this.file });
  }
}

/** Opens a store for reading. If there is no file, it is empty and nothing is saved. */
export async function lookIntoStore(file: string): Promise<SqliteStore> {
  return isMissing(file) ? new SqliteStore(emptyDatabase(file), {}) : openStore(file);
}

/** Opens a store that the first write creates if there is no file. */
export async function openStoreLate(file: string): Promise<SqliteStore> {
  return isMissing(file) ? new SqliteStore(lateDatabase(file), {}) : openStore(file);
}

function isMissing(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false }) === undefined;
  } catch {
    // Opening it reports the problem.
    return false;
  }
}
