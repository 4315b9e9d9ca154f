import { setImmediate as nextTurn } from 'node:timers/promises';
import { VolleyError } from '../core/errors.ts';
import { type Database, FileWatch, whenFree } from './database.ts';
import { sqliteCode, storeError } from './store-error.ts';

/** How long one batch of writes may hold the event loop. */
const SLICE_MS = 10;
/** Reading the clock costs as much as a small write, so it is read once per this many. */
const WRITES_PER_CLOCK_READ = 16;

/** Hooks of every transaction. */
export interface TransactionHooks {
  /** Called before the first write; earlier writes were committed or undone. */
  begun(): void;
  /** Whether enough is buffered for one transaction. */
  isFull(): boolean;
  /** Called after the last write. */
  committing(): void;
}

/** Work in steps: it may pause at each yield, if it has held the event loop for long enough. */
export type Steps<T> = Generator<void, T, void>;

interface Entry {
  /** Throws before it writes anything, or because SQLite does. */
  readonly apply: (() => unknown) | undefined;
  /** Runs in a transaction of its own, which may take several turns of the event loop. */
  readonly steps: (() => Steps<unknown>) | undefined;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
}

/** A buffered write turned out to be invalid: the transaction is rolled back. */
export class TransactionRefused extends Error {
  constructor(readonly reason: VolleyError) {
    super(reason.message);
  }
}

type Applied = { readonly value: unknown } | { readonly error: unknown };

/**
 * Group commit: writes in the same turn of the event loop form one transaction, and their promises settle when it has
 * been committed. Writes keep their order, and each is atomic. If SQLite rejects a transaction, its writes are retried
 * one by one, so that only the ones at fault fail.
 */
export class WriteQueue {
  private waiting: Entry[] = [];
  /** How many of the next writes get a transaction each. */
  private apart = 0;
  private draining: Promise<void> | undefined = undefined;
  private watch: FileWatch | undefined = undefined;
  private readonly commitListeners = new Set<(ms: number) => void>();
  private begunAt = 0;

  constructor(
    private readonly database: Database,
    private readonly hooks: TransactionHooks,
  ) {
    if (database.make === undefined) this.watch = new FileWatch(database.file);
  }

  /** Writes together with others. `apply` must check before it writes. */
  write<T>(apply: () => T): Promise<T> {
    return this.add<T>(apply, undefined);
  }

  /** Writes alone, in as many steps as needed. Nothing comes in between, and no reader sees a part of it. */
  writeInSteps<T>(steps: () => Steps<T>): Promise<T> {
    return this.add<T>(undefined, steps);
  }

  /** Reports how long each transaction took, from its first write until it was safe. */
  onCommit(listener: (ms: number) => void): () => void {
    this.commitListeners.add(listener);
    return () => {
      this.commitListeners.delete(listener);
    };
  }

  /** Resolves when the queue is empty. */
  async idle(): Promise<void> {
    await this.draining;
  }

  private add<T>(apply: Entry['apply'], steps: Entry['steps']): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.waiting.push({ apply, steps, resolve, reject });
      this.draining ??= this.drain();
    });
  }

  private async drain(): Promise<void> {
    while (this.waiting.length > 0) {
      await nextTurn();
      try {
        await this.makeFile();
        await whenFree(() => this.database.writer.exec('BEGIN IMMEDIATE'));
      } catch (error) {
        this.apart = 0;
        for (const { reject } of this.waiting.splice(0)) reject(storeError(error, this.database.file));
        continue;
      }
      const [first] = this.waiting;
      if (first?.steps) await this.commitSteps(this.waiting.shift()!, first.steps);
      else this.commitGroup();
    }
    this.draining = undefined;
  }

  private async makeFile(): Promise<void> {
    if (this.watch !== undefined) return;
    await this.database.make?.();
    this.watch = new FileWatch(this.database.file);
  }

  private commitGroup(): void {
    const applied: Applied[] = [];
    try {
      this.begin();
      this.applyGroup(applied);
      this.commit();
    } catch (error) {
      this.rollBack();
      this.refuse(error, applied.length + 1);
      return;
    }
    if (this.apart > 0) this.apart--;
    const settled = this.waiting.splice(0, applied.length);
    for (const [index, { resolve, reject }] of settled.entries()) {
      const outcome = applied[index]!;
      if ('error' in outcome) reject(outcome.error);
      else resolve(outcome.value as never);
    }
  }

  /** Applies queued writes until one needs a transaction of its own or time is up. */
  private applyGroup(applied: Applied[]): void {
    const start = performance.now();
    for (const { apply } of this.waiting) {
      if (apply === undefined || (applied.length > 0 && (this.apart > 0 || this.hooks.isFull()))) return;
      const isTimeToLook = applied.length % WRITES_PER_CLOCK_READ === WRITES_PER_CLOCK_READ - 1;
      if (isTimeToLook && performance.now() - start > SLICE_MS) return;
      try {
        applied.push({ value: apply() });
      } catch (error) {
        if (!(error instanceof VolleyError)) throw error;
        applied.push({ error });
      }
    }
  }

  /**
   * Retries the writes one by one, after the transaction failed at or after the given write; fails a write that was
   * alone.
   */
  private refuse(error: unknown, count: number): void {
    const tried = Math.min(count, this.waiting.length);
    if (tried > 1 && this.apart === 0) {
      this.apart = tried;
      return;
    }
    if (this.apart > 0) this.apart--;
    this.waiting.shift()?.reject(this.toStoreError(error));
  }

  private async commitSteps(entry: Entry, steps: () => Steps<unknown>): Promise<void> {
    try {
      this.begin();
      const value = await inSlices(steps());
      this.commit();
      entry.resolve(value as never);
    } catch (error) {
      this.rollBack();
      entry.reject(sqliteCode(error) === undefined ? error : storeError(error, this.database.file));
    }
  }

  private begin(): void {
    this.hooks.begun();
    if (this.commitListeners.size > 0) this.begunAt = performance.now();
  }

  private commit(): void {
    this.hooks.committing();
    this.watch?.check();
    this.database.writer.exec('COMMIT');
    if (this.commitListeners.size === 0) return;
    const ms = performance.now() - this.begunAt;
    for (const listener of this.commitListeners) listener(ms);
  }

  private toStoreError(error: unknown): Error {
    return error instanceof TransactionRefused ? error.reason : storeError(error, this.database.file);
  }

  private rollBack(): void {
    try {
      // SQLite rolls back by itself after some errors.
      if (this.database.writer.isTransaction) this.database.writer.exec('ROLLBACK');
    } catch {
      // The original error says more, and uncommitted data is not in the file either way.
    }
  }
}

async function inSlices<T>(steps: Steps<T>): Promise<T> {
  for (let start = performance.now(); ; ) {
    const step = steps.next();
    if (step.done) return step.value;
    if (performance.now() - start < SLICE_MS) continue;
    await nextTurn();
    start = performance.now();
  }
}

/** Runs all steps at once. */
export function toEnd<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}
