import { setImmediate as nextTurn } from 'node:timers/promises';
import { VolleyError } from '../../core/errors.ts';
import type { Database } from './connection.ts';
import { isLost, isRepeatable, postgresError } from './postgres-error.ts';
import { Transaction } from './transaction.ts';

/**
 * The most writes, and the most tasks they decide about, in one transaction. It is half of what a run lets wait for its
 * write, so that one half is worked on while the other is written.
 */
const MAX_WRITES = 500;
const MAX_TASKS = 1000;
/** How often a transaction is repeated that others got in the way of. */
const MAX_REPEATS = 20;
/** How long to go on when the server cannot be reached: it may be restarted. */
const RETRY_MS = 30_000;

/** Waits for the lost transaction, whether it has changed the row or, after a long silence of its writer, made it anew. */
const OUTCOME = `
  INSERT INTO writers (id, writes, last) VALUES ($1, 0, 0) ON CONFLICT (id) DO UPDATE SET seen_at = now() RETURNING last`;
const NEW_WRITER = 'INSERT INTO writers (writes, last) VALUES (0, 0) RETURNING id';

/** A write that waits for its transaction. */
export interface Write<T> {
  /** The batch that it is about. It is locked first. */
  readonly batch?: string | undefined;
  /**
   * The tasks that it decides about in memory, by number: their states are read before, and what it decides is written
   * together with others. Without them, it runs statements of its own.
   */
  readonly seqs?: readonly number[];
  /** Checks first, then writes: it throws a VolleyError only before it has written anything. */
  readonly apply: (tx: Transaction) => T | Promise<T>;
}

interface Entry {
  readonly write: Write<unknown>;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
}

type Outcome = { readonly value: unknown } | { readonly error: unknown };

/** Hooks of every transaction. */
export interface CommitHooks {
  /** Called for each batch after it was locked, before anything is written to it. */
  locked(tx: Transaction, batch: string): void;
  /** Called after each commit. */
  committed(tx: Transaction): void;
  /** The time that judges leases instead of the server's clock. */
  readonly now: (() => number) | undefined;
}

/**
 * Group commit: writes that wait while a transaction is under way form the next one, in their order, and their promises
 * settle when it has been committed. If the server rejects a transaction, its writes are retried one by one, so that
 * only the ones at fault fail.
 *
 * A connection that is lost before the commit was sent has committed nothing, and the transaction is repeated. If it is
 * lost after, the row of this writer tells: the lost transaction has locked it, so that reading it waits until the server has
 * decided. Nothing is reported as safe that was not committed, and nothing is written twice.
 */
export class Committer {
  private waiting: Entry[] = [];
  /** How many of the next writes get a transaction each. */
  private apart = 0;
  private draining: Promise<void> | undefined = undefined;
  private readonly listeners = new Set<(ms: number) => void>();
  /** The row of this store in `writers`. */
  private writer: number | undefined;
  private writes = 0;
  /** The last transaction, kept alive like the query of connection.ts. */
  private last: Transaction | undefined;

  constructor(
    private readonly database: Database,
    private readonly hooks: CommitHooks,
  ) {}

  write<T>(write: Write<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.waiting.push({ write, resolve, reject });
      this.draining ??= this.drain();
    });
  }

  /** Reports how long each transaction took, from its first write until it was safe. */
  onCommit(listener: (ms: number) => void): () => void {
    this.listeners.add(listener);
    return () => {
      this.listeners.delete(listener);
    };
  }

  /** Resolves when nothing waits. */
  async idle(): Promise<void> {
    await this.draining;
  }

  /** The row of this store in `writers`, if it has written. */
  get writerId(): number | undefined {
    return this.writer;
  }

  private async drain(): Promise<void> {
    while (this.waiting.length > 0) {
      await nextTurn();
      const group = this.nextGroup();
      try {
        const outcomes = await this.commit(group.map(({ write }) => write));
        this.waiting.splice(0, group.length);
        if (this.apart > 0) this.apart -= group.length;
        for (const [index, { resolve, reject }] of group.entries()) {
          const outcome = outcomes[index]!;
          if ('error' in outcome) reject(outcome.error);
          else resolve(outcome.value as never);
        }
      } catch (error) {
        this.refuse(error, group);
      }
    }
    this.draining = undefined;
  }

  private nextGroup(): Entry[] {
    if (this.apart > 0) return this.waiting.slice(0, 1);
    let [count, tasks] = [0, 0];
    for (const { write } of this.waiting) {
      tasks += write.seqs?.length ?? 0;
      if (count > 0 && (count >= MAX_WRITES || tasks > MAX_TASKS)) break;
      count++;
    }
    return this.waiting.slice(0, count);
  }

  /** Fails a write that was alone; retries others one by one, unless the server is away. */
  private refuse(error: unknown, group: readonly Entry[]): void {
    const problem = postgresError(error, this.database.place);
    const isAway = isLost(error) || (problem instanceof VolleyError && problem.code === 'STORE_UNAVAILABLE');
    if (group.length > 1 && !isAway) {
      this.apart = group.length;
      return;
    }
    this.waiting.splice(0, group.length);
    if (this.apart > 0) this.apart -= group.length;
    for (const { reject } of group) reject(problem);
  }

  /** Commits a group of writes, if need be after the server has been restarted. */
  private async commit(writes: readonly Write<unknown>[]): Promise<Outcome[]> {
    let deadline: number | undefined;
    for (let repeats = 0; ; repeats++) {
      // The one before may have been committed although its answer was lost.
      let sent: { readonly outcomes: Outcome[]; readonly write: number } | undefined;
      try {
        return await this.attempt(writes, (outcomes, write) => {
          sent = { outcomes, write };
        });
      } catch (error) {
        if (isLost(error)) await this.database.dropWriter();
        if (isRepeatable(error) && repeats < MAX_REPEATS) continue;
        if (!isLost(error)) throw error;
        // From the first loss on: it may have taken long to be noticed.
        deadline ??= performance.now() + RETRY_MS;
        const left = Math.max(0, deadline - performance.now());
        if (sent !== undefined && (await this.wasCommitted(sent.write, left))) return sent.outcomes;
        if (left === 0) throw error;
        await this.database.retried(left, () => this.database.writing());
      }
    }
  }

  /** `onSent` is called when the commit is about to be sent: from then on its outcome may be unknown. */
  private async attempt(
    writes: readonly Write<unknown>[],
    onSent: (outcomes: Outcome[], write: number) => void,
  ): Promise<Outcome[]> {
    // Its row is committed before: one that is only being inserted could not be waited for.
    this.writer ??= (await this.database.once((reader) => reader.rows<{ id: number }>(NEW_WRITER)))[0]!.id;
    const statements = await this.database.writing();
    const begunAt = performance.now();
    const tx = new Transaction(statements, this.hooks.now);
    const outcomes: Outcome[] = [];
    try {
      const write = ++this.writes;
      await this.begin(tx, writes, write);
      for (const [index, { apply, seqs }] of writes.entries()) {
        if (seqs === undefined) await tx.flush();
        else if (index > 0 && writes[index - 1]!.seqs === undefined) await this.load(tx, writes.slice(index));
        try {
          const value = apply(tx);
          outcomes.push({ value: value instanceof Promise ? await value : value });
        } catch (error) {
          if (!(error instanceof VolleyError)) throw error;
          outcomes.push({ error });
        }
      }
      const finishing = tx.finish();
      if (!tx.isDirty) {
        await statements.run('ROLLBACK');
        return outcomes;
      }
      // In one round trip: after a statement that fails, the server answers the commit by rolling back.
      onSent(outcomes, write);
      await Promise.all([finishing, statements.run('COMMIT')]);
    } catch (error) {
      // What the callback of a caller threw leaves the connection in order.
      if (!isLost(error)) await statements.run('ROLLBACK').catch(() => undefined);
      throw error;
    }
    this.last = tx;
    this.hooks.committed(tx);
    const ms = performance.now() - begunAt;
    for (const listener of this.listeners) listener(ms);
    return outcomes;
  }

  /**
   * Locks, and reads what the first writes are about, in one round trip. The row of the writer is locked long before the
   * commit is sent: whoever asks for the outcome waits for a server that is still at work after the connection was lost.
   * Nothing gets the number of the transaction before the batches are locked: the feed is in the order of those.
   */
  private async begin(tx: Transaction, writes: readonly Write<unknown>[], write: number): Promise<void> {
    const names = [...new Set(writes.flatMap(({ batch }) => batch ?? []))];
    await Promise.all([
      tx.statements.run('BEGIN'),
      tx.lock(names),
      tx.count(this.writer!, write),
      writes[0]!.seqs === undefined ? undefined : this.load(tx, writes),
    ]);
    for (const name of names) this.hooks.locked(tx, name);
  }

  /** Reads the states of tasks for all writes up to the first one that runs statements of its own. */
  private async load(tx: Transaction, writes: readonly Write<unknown>[]): Promise<void> {
    const seqsOf = new Map<string, number[]>();
    for (const { batch, seqs } of writes) {
      if (seqs === undefined) break;
      const all = seqsOf.get(batch!) ?? [];
      all.push(...seqs);
      seqsOf.set(batch!, all);
    }
    tx.states.forget();
    await Promise.all([...seqsOf].map(([batch, seqs]) => tx.states.load(tx.statements, batch, seqs)));
  }

  /** Whether a transaction was committed whose connection was lost during the commit. */
  private wasCommitted(write: number, forMs: number): Promise<boolean> {
    return this.database.retried(forMs, async () => {
      const statements = await this.database.writing();
      try {
        await statements.run('BEGIN');
        const [row] = await statements.rows<{ last: number }>(OUTCOME, this.writer!);
        await statements.run('ROLLBACK');
        return row?.last === write;
      } catch (error) {
        await this.database.dropWriter();
        throw error;
      }
    });
  }
}
