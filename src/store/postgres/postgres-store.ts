import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CachedEntry, StoredCachedEntry } from '../../coordinator/result-cache.ts';
import { VolleyError } from '../../core/errors.ts';
import type { Spending } from '../../runners/runner.ts';
import type { FeedTask, StoreFeed } from '../feed.ts';
import { ownIdentity, type ProcessIdentity, steadyMs } from '../process-identity.ts';
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
} from '../records.ts';
import { keyOf } from '../rows.ts';
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
} from '../store.ts';
import { addTasks, cancel, clear, endItems, endOpen, recover, reopen } from './bulk.ts';
import { Committer, type Write } from './committer.ts';
import { atMost, Database, GOODBYE_MS } from './connection.ts';
import { existing, HEARTBEAT_MS, Holders, LEASE_MS } from './holders.ts';
import { PostgresFeed } from './postgres-feed.ts';
import { Queries } from './queries.ts';
import { migrate } from './schema.ts';
import { PostgresServers } from './servers.ts';
import { addOutput, cacheResults, cacheUsed, trimCache, trimOutput } from './side-tables.ts';
import type { TaskStates } from './task-states.ts';
import { toText } from './text.ts';
import type { Transaction } from './transaction.ts';

/** Time and process identity, injectable for tests. */
export interface PostgresStoreOptions {
  /** The time of day in milliseconds, also for leases, which the server's clock judges otherwise. */
  readonly now?: () => number;
  readonly identity?: ProcessIdentity;
  readonly heartbeatMs?: number;
  readonly leaseMs?: number;
}

const START_BATCH = 'UPDATE batches SET started_at = $2, ended_at = NULL, options = $3 WHERE id = $1';
const ADD_DELIVERIES = `
  INSERT INTO deliveries (key, position, item, at)
  SELECT $1, $2::integer + u.n - 1, u.item, u.at FROM unnest($3::integer[], $4::bigint[]) WITH ORDINALITY u (item, at, n)`;
const WRITE_LOG = `
  INSERT INTO logs (key, body) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET body = excluded.body`;
const ADD_REQUEST = 'INSERT INTO requests (batch, body) VALUES ($1, $2) RETURNING id';
const ANSWER_REQUEST = 'UPDATE requests SET answer = $2 WHERE id = $1';
const DELETE_REQUEST = 'DELETE FROM requests WHERE id = $1';
const SERVER_TIME = `SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now`;
/** Adds a writer that ends, and those that were not heard of for a day, to the sum of those that are gone. */
const FOLD_WRITERS = `
  WITH gone AS (
    DELETE FROM writers WHERE id = $1 OR (id <> 0 AND seen_at < now() - interval '1 day') RETURNING writes)
  UPDATE writers SET writes = writes + (SELECT sum(writes) FROM gone) WHERE id = 0 AND EXISTS (SELECT 1 FROM gone)`;

/** Opens the store at an address, creating its schema if necessary. */
export async function openPostgresStore(
  address: string,
  options: PostgresStoreOptions = {},
): Promise<PostgresStore> {
  const database = await Database.open(address);
  try {
    await migrate(database);
  } catch (error) {
    await database.close();
    throw error;
  }
  return new PostgresStore(database, options);
}

/** A store in a schema of a PostgreSQL database, for several machines. */
export class PostgresStore implements Store {
  private readonly now: () => number;
  private readonly leaseNow: (() => number) | undefined;
  private readonly heartbeatMs: number;
  private readonly leaseMs: number;
  private readonly holders: Holders;
  private readonly committer: Committer;
  private readonly queries: Queries;
  readonly isRemote = true;
  readonly servers: PostgresServers;
  readonly feed: StoreFeed;
  private heartbeat: NodeJS.Timeout | undefined = undefined;
  private expiry: NodeJS.Timeout | undefined = undefined;
  private renewing: Promise<void> | undefined = undefined;
  private closing: Promise<void> | undefined = undefined;

  constructor(
    private readonly database: Database,
    { now, identity = ownIdentity(), heartbeatMs = HEARTBEAT_MS, leaseMs = LEASE_MS }: PostgresStoreOptions,
  ) {
    this.leaseMs = leaseMs;
    this.now = now ?? Date.now;
    this.leaseNow = now;
    this.heartbeatMs = heartbeatMs;
    this.holders = new Holders(identity, leaseMs);
    const feed = new PostgresFeed(database);
    this.feed = {
      follow: (onNews) => this.read(() => feed.follow(onNews)),
      end: () => this.read(() => feed.end()),
      read: (after, options) => this.read(() => feed.read(after, options)),
      report: async (batch, body) => {
        if (feed.isFollowed) await this.report(batch, body);
      },
    };
    this.committer = new Committer(database, {
      locked: (tx, batch) => this.holders.notice(tx, batch),
      committed: (tx) => feed.committed(tx.isFollowed, tx.hasNews),
      now,
    });
    this.queries = new Queries(database, this.holders, now);
    this.servers = new PostgresServers(database, identity, {
      joined: () => {
        this.holders.isServer = true;
      },
      holderOf: (lease, at) => this.holders.holderOf(lease, at),
    });
  }

  /** The address without its password. */
  get place(): string {
    return this.database.place;
  }

  addTasks(batch: string, tasks: readonly NewTask[]): Promise<AddedTasks> {
    return this.write({ batch, apply: (tx) => addTasks(tx, batch, tasks, this.now()) });
  }

  addItems(batch: string, groupSeq: number, items: readonly NewTask[]): Promise<AddedTasks> {
    return this.writeOwn(batch, (tx) => {
      existing(tx, batch);
      return addTasks(tx, batch, items, this.now(), groupSeq);
    });
  }

  endItems(batch: string, groupSeq: number, end: Unsuccessful, at: number): Promise<number> {
    return this.writeOwn(batch, (tx) => endItems(tx, batch, groupSeq, end, at));
  }

  endOpen(batch: string, end: Unsuccessful, at: number): Promise<number> {
    return this.writeOwn(batch, (tx) => endOpen(tx, batch, end, at));
  }

  delivered(batch: string, groupSeq: number, before: number, deliveries: readonly Delivery[]): Promise<void> {
    return this.writeOwn(batch, async (tx) => {
      const key = keyOf(existing(tx, batch).id, groupSeq);
      const [items, times] = [
        deliveries.map(({ index }) => index),
        deliveries.map(({ at }) => Math.trunc(at)),
      ];
      await tx.statements.run(ADD_DELIVERIES, key, before, items, times);
      tx.isDirty = true;
    });
  }

  logged(batch: string, groupSeq: number, text: string): Promise<void> {
    return this.writeOwn(batch, async (tx) => {
      await tx.statements.run(WRITE_LOG, keyOf(existing(tx, batch).id, groupSeq), toText(text));
      tx.isDirty = true;
    });
  }

  async started(batch: string, seq: number, at: number): Promise<void> {
    await this.decide(batch, [seq], (states, tx) => states.started(tx, batch, seq, at));
    this.holders.checkStillHeld(batch);
  }

  placed(batch: string, seq: number, worker: string): Promise<void> {
    return this.decide(batch, [seq], (states, tx) => states.placed(tx, batch, seq, worker));
  }

  attemptFailed(batch: string, seq: number, attempt: FailedAttempt): Promise<void> {
    return this.decide(batch, [seq], (states, tx) => states.attemptFailed(tx, batch, seq, attempt));
  }

  ended(
    batch: string,
    seq: number,
    end: TaskEnd,
    at: number,
    startedAt?: number,
    durationMs?: number,
  ): Promise<void> {
    return this.decide(batch, [seq], (states, tx) =>
      states.ended(tx, batch, seq, end, at, startedAt, durationMs),
    );
  }

  completed(batch: string, tasks: readonly Completion[]): Promise<void> {
    const seqs = tasks.map(({ seq }) => seq);
    return this.decide(batch, seqs, (states, tx) => states.completed(tx, batch, tasks));
  }

  spent(batch: string, seq: number, spending: Spending): Promise<void> {
    return this.decide(batch, [seq], (states, tx) => states.spent(tx, batch, seq, spending));
  }

  putBack(
    batch: string,
    seq: number,
    message: string,
    at: number,
    startedAt?: number,
    durationMs?: number,
  ): Promise<void> {
    return this.decide(batch, [seq], (states, tx) =>
      states.putBack(tx, batch, seq, message, at, startedAt, durationMs),
    );
  }

  batchStarted(batch: string, options: string, at: number): Promise<void> {
    return this.write({
      batch,
      apply: async (tx) => {
        await tx.statements.run(START_BATCH, existing(tx, batch).id, Math.trunc(at), toText(options));
        tx.isDirty = true;
        tx.note(batch, { event: 'run' });
      },
    });
  }

  reopen(batch: string, ids?: readonly string[]): Promise<number> {
    return this.write({ batch, apply: (tx) => reopen(tx, batch, ids, this.now()) });
  }

  cancel(batch: string, message: string, ids?: readonly string[]): Promise<number> {
    return this.write({
      batch,
      apply: (tx) => {
        this.holders.checkNotHeldByOthers(tx, batch, existing(tx, batch).lease);
        return cancel(tx, batch, message, ids, this.now());
      },
    });
  }

  clear(batch: string, status?: readonly TaskStatus[]): Promise<number> {
    return this.write({ batch, apply: (tx) => clear(tx, this.holders, batch, status, this.now()) });
  }

  batches(): Promise<BatchRecord[]> {
    return this.read(() => this.queries.batches());
  }

  batchPage(beforeNumber: number | undefined, limit: number): Promise<BatchRecord[]> {
    return this.read(() => this.queries.batchPage(beforeNumber, limit));
  }

  batch(name: string): Promise<BatchRecord | undefined> {
    return this.read(() => this.queries.batch(name));
  }

  batchWithTasks(name: string, queries: readonly TaskQuery[]): Promise<BatchWithTasks | undefined> {
    return this.read(() => this.queries.batchWithTasks(name, queries));
  }

  task(batch: string, id: string): Promise<TaskRecord | undefined> {
    return this.read(() => this.queries.task(batch, id));
  }

  tasksById(batch: string, ids: Iterable<string>): Promise<ReadonlyMap<string, TaskSummary>> {
    return this.read(() => this.queries.tasksById(batch, ids));
  }

  usages(functions: ReadonlySet<string>): Promise<ReadonlyMap<string, readonly StoredUsage[]>> {
    return this.read(() => this.queries.usages(functions));
  }

  lastIds(batch: string, limit: number): Promise<string[]> {
    return this.read(() => this.queries.lastIds(batch, limit));
  }

  tasks(batch: string, query: TaskQuery): Promise<TaskRecord[]> {
    return this.read(() => this.queries.tasks(batch, query));
  }

  outlines(batch: string, query: Pick<TaskQuery, 'afterSeq' | 'limit'>): Promise<TaskOutline[]> {
    return this.read(() => this.queries.outlines(batch, query));
  }

  openTasks(batch: string, seqs: readonly number[]): Promise<TaskRecord[]> {
    return this.read(() => this.queries.openTasks(batch, seqs));
  }

  items(batch: string, groupSeq: number, query: ItemQuery): Promise<TaskRecord[]> {
    return this.read(() => this.queries.items(batch, groupSeq, query));
  }

  itemCounts(batch: string, groupSeq: number): Promise<Readonly<Record<TaskStatus, number>>> {
    return this.read(() => this.queries.itemCounts(batch, groupSeq));
  }

  itemResults(
    batch: string,
    groupSeq: number,
    query: { readonly afterSeq: number; readonly limit: number; readonly maxBytes: number },
  ): Promise<ItemResult[]> {
    return this.read(() => this.queries.itemResults(batch, groupSeq, query));
  }

  deliveries(batch: string, groupSeq: number, from: number, limit: number): Promise<Delivery[]> {
    return this.read(() => this.queries.deliveries(batch, groupSeq, from, limit));
  }

  log(batch: string, id: string): Promise<string | undefined> {
    return this.read(() => this.queries.log(batch, id));
  }

  slowest(
    batch: string,
    status: readonly TaskStatus[],
    afterSeq: number,
    limit: number,
  ): Promise<SlowestPage> {
    return this.read(() => this.queries.slowest(batch, status, afterSeq, limit));
  }

  result(batch: string, id: string, range?: ResultRange): Promise<string | undefined> {
    return this.read(() => this.queries.result(batch, id, range));
  }

  results(batch: string, ids: Iterable<string>): Promise<ReadonlyMap<string, string>> {
    return this.read(() => this.queries.results(batch, ids));
  }

  resultBytes(batch: string, id: string, range: ResultRange): Promise<Buffer | undefined> {
    return this.read(() => this.queries.resultBytes(batch, id, range));
  }

  blob(batch: string, id: string): Promise<StoredBlob | undefined> {
    return this.read(() => this.queries.blob(batch, id));
  }

  attempts(
    batch: string,
    query: { readonly afterSeq?: number; readonly limit: number },
  ): Promise<AttemptPage> {
    return this.read(() => this.queries.attempts(batch, query));
  }

  attemptsOf(batch: string, id: string): Promise<AttemptRecord[]> {
    return this.read(() => this.queries.attemptsOf(batch, id));
  }

  addOutput(batch: string, chunks: readonly OutputChunk[], maxTaskBytes: number): Promise<void> {
    return this.writeOwn(batch, async (tx) => {
      const locked = tx.find(batch);
      if (locked === undefined) return;
      await addOutput(tx, locked.id, chunks, maxTaskBytes);
      tx.isDirty = true;
    });
  }

  trimOutput(maxBytes: number): Promise<number> {
    return this.write({ apply: (tx) => counted(tx, trimOutput(tx, maxBytes)) });
  }

  outputOf(batch: string, id: string): Promise<KeptOutput[]> {
    return this.read(() => this.queries.outputOf(batch, id));
  }

  output(batch: string, id: string, attempt: number, fromLine: number): Promise<OutputPage | undefined> {
    return this.read(() => this.queries.output(batch, id, attempt, fromLine));
  }

  version(): Promise<number> {
    return this.read(() => this.queries.version());
  }

  cachedResult(key: Uint8Array, maxBytes: number): Promise<StoredCachedEntry | undefined> {
    return this.read(() => this.queries.cachedResult(key, maxBytes));
  }

  cacheResults(entries: readonly CachedEntry[]): Promise<void> {
    return this.write({
      apply: async (tx) => {
        await cacheResults(tx, entries);
        tx.isDirty = true;
      },
    });
  }

  cacheUsed(keys: readonly Uint8Array[], at: number): Promise<void> {
    return this.write({
      apply: async (tx) => {
        await cacheUsed(tx, keys, at);
        tx.isDirty = true;
      },
    });
  }

  trimCache({ createdAfter, maxBytes }: { createdAfter: number; maxBytes: number }): Promise<number> {
    return this.write({ apply: (tx) => counted(tx, trimCache(tx, createdAfter, maxBytes)) });
  }

  cacheUse(): Promise<CacheUse[]> {
    return this.read(() => this.queries.cacheUse());
  }

  clearCache(): Promise<number> {
    return this.trimCache({ createdAfter: Number.MAX_SAFE_INTEGER, maxBytes: 0 });
  }

  onCommit(listener: (ms: number) => void): () => void {
    return this.committer.onCommit(listener);
  }

  async lease(batch: string, { continues } = { continues: false }): Promise<Lease> {
    const write = <T>(apply: (tx: Transaction) => Promise<T>) =>
      this.write({
        batch,
        apply: async (tx) => {
          const value = await apply(tx);
          tx.note(batch, { event: 'run' });
          return value;
        },
      });
    const held = await write((tx) => this.holders.claim(tx, batch, continues));
    this.heartbeat ??= setInterval(() => this.renew(), this.heartbeatMs).unref();
    this.expiry ??= setInterval(() => this.holders.giveUpExpired(), this.heartbeatMs / 8).unref();
    return this.holders.keep(held, write);
  }

  ask(batch: string, body: string): Promise<number | undefined> {
    return this.write({
      batch,
      apply: async (tx) => {
        const { id, lease } = existing(tx, batch);
        if (this.holders.isOwn(batch) || this.holders.holderOf(lease, tx.now) === undefined) return undefined;
        const [row] = await tx.statements.rows<{ id: number }>(ADD_REQUEST, id, toText(body));
        tx.isDirty = true;
        return row!.id;
      },
    });
  }

  asked(batch: string): Promise<HolderRequest[]> {
    return this.read(() => this.queries.asked(batch));
  }

  answer(request: number, body: string): Promise<void> {
    return this.change(ANSWER_REQUEST, request, toText(body));
  }

  answerTo(request: number): Promise<string | undefined> {
    return this.read(() => this.queries.answerTo(request));
  }

  forget(request: number): Promise<void> {
    return this.change(DELETE_REQUEST, request);
  }

  recover(isIdempotent: (functionName: string) => boolean, batch?: string): Promise<Recovery> {
    return this.write({
      batch,
      apply: (tx) => recover(tx, this.holders, isIdempotent, batch, this.now()),
    });
  }

  close(): Promise<void> {
    this.closing ??= this.closeOnce();
    return this.closing;
  }

  private async closeOnce(): Promise<void> {
    try {
      await this.committer.idle();
      // A lease that is being written is known only once its promise settles.
      await nextTurn();
      clearInterval(this.heartbeat);
      clearInterval(this.expiry);
      await this.renewing;
      if (this.holders.count > 0) {
        const releasing = this.committer.write({ apply: (tx) => this.holders.releaseAll(tx) });
        // Then they have ended by themselves.
        await atMost(this.leaseMs, releasing);
      }
      const { writerId } = this.committer;
      if (writerId !== undefined)
        await atMost(
          GOODBYE_MS,
          this.database
            .once((statements) => statements.run(FOLD_WRITERS, writerId), 0)
            .catch(() => undefined),
        );
    } finally {
      await this.database.close();
    }
  }

  /**
   * Renews the leases on a connection of their own: neither a long transaction nor long reads hold it up. A lease that cannot
   * be renewed is given up before another process may take it.
   */
  private renew(): void {
    this.holders.giveUpExpired();
    if (this.holders.count === 0) return;
    this.renewing ??= this.database
      .urgent(async (statements) => {
        const renewedAt = steadyMs();
        const now = this.leaseNow?.() ?? (await statements.rows<{ now: number }>(SERVER_TIME))[0]!.now;
        await this.holders.renew(statements, now, renewedAt);
      })
      .catch(() => undefined)
      .finally(() => {
        this.renewing = undefined;
      });
  }

  /** Runs one statement that may change something. */
  private change(sql: string, ...values: (number | string)[]): Promise<void> {
    return this.write({
      apply: async (tx) => {
        if ((await tx.statements.run(sql, ...values)) > 0) tx.isDirty = true;
      },
    });
  }

  /** Decides about tasks of a batch that this store runs, unless another process took it over. */
  private decide(
    batch: string,
    seqs: readonly number[],
    apply: (states: TaskStates, tx: Transaction) => void,
  ): Promise<void> {
    return this.write({
      batch,
      seqs,
      apply: (tx) => {
        this.holders.checkMayRun(tx, batch);
        apply(tx.states, tx);
      },
    });
  }

  /** The batch is locked, so that it comes after what this process has written before. */
  private report(batch: string, body: FeedTask): Promise<void> {
    return this.writeOwn(batch, async (tx) => {
      if (tx.find(batch) === undefined) return;
      tx.note(batch, body);
      tx.isDirty ||= tx.hasNews;
    });
  }

  /** Writes to a batch that this store runs, unless another process took it over. */
  private writeOwn<T>(batch: string, apply: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.write({
      batch,
      apply: (tx) => {
        this.holders.checkMayRun(tx, batch);
        return apply(tx);
      },
    });
  }

  private write<T>(write: Write<T>): Promise<T> {
    return this.closing === undefined ? this.committer.write(write) : Promise.reject(this.closedError());
  }

  private async read<T>(read: () => Promise<T>): Promise<T> {
    if (this.closing !== undefined) throw this.closedError();
    return read();
  }

  private closedError(): VolleyError {
    return new VolleyError('STORE_CLOSED', `The store ${this.place} is closed.`, { store: this.place });
  }
}

/** A write that returns how much it has changed. */
async function counted(tx: Transaction, changing: Promise<number>): Promise<number> {
  const count = await changing;
  if (count > 0) tx.isDirty = true;
  return count;
}
