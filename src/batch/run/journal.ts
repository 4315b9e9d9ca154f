import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Spending } from '../../runners/runner.ts';
import type { Completion, FailedAttempt, StoredBlob, StoredUsage, TaskEnd } from '../../store/records.ts';
import type { Store, Unsuccessful } from '../../store/store.ts';

/**
 * How many results, and how many characters of them, may wait for their write while other tasks take their place. After a
 * crash their tasks run again.
 */
const MAX_WAITING = 2000;
const MAX_WAITING_CHARACTERS = 16 * 2 ** 20;
/** The most results in one write, so that tasks run while others are being written. */
const MAX_TOGETHER = MAX_WAITING / 4;

/** Tasks that complete in the same turn of the event loop share one write and one promise. */
interface Completions {
  readonly tasks: Completion[];
  readonly written: Promise<void>;
}

/**
 * Stores what happens to the tasks of one run. The first write that fails ends the run: work that cannot be recorded
 * must not be done, and everything recorded stays true.
 */
export class RunJournal {
  private failure: unknown;
  private hasFailed = false;
  /** Start times of attempts that are not stored yet, by the task's sequence number. */
  private readonly starts = new Map<number, number>();
  /** Of this turn of the event loop. */
  private completions: Completions | undefined;
  /** The results that are being written. */
  private waiting = 0;
  private waitingCharacters = 0;
  /** What is called when others may start although the result of this task is not written; by its sequence number. */
  private readonly held = new Map<number, () => void>();

  constructor(
    private readonly store: Store,
    readonly batch: string,
    private readonly onFailure: (error: unknown) => void,
  ) {}

  /** Whether writing has failed or was closed. */
  get isClosed(): boolean {
    return this.hasFailed;
  }

  /**
   * Calls `release` as soon as another task may start while the result of this one, which was handed over, waits for its
   * write; never if it is written before. Writes to a local file are quick, so that none has to start meanwhile.
   */
  whenOthersMayStart(seq: number, release: () => void): void {
    if (this.store.isRemote !== true) return;
    if (this.mayWait) release();
    else this.held.set(seq, release);
  }

  private get mayWait(): boolean {
    return this.waiting <= MAX_WAITING && this.waitingCharacters <= MAX_WAITING_CHARACTERS;
  }

  started(seq: number): Promise<void> {
    return this.write(() => this.store.started(this.batch, seq, Date.now()));
  }

  /**
   * Records the first attempt of a task that may run again after a crash, without waiting for the write. If it ends in
   * the same turn of the event loop, its start and its end are one write. A failed write ends the run.
   */
  startedSoon(seq: number, at: number): void {
    if (this.starts.size === 0) setImmediate(this.writeStarts);
    this.starts.set(seq, at);
  }

  /** Records the worker of the current attempt, without waiting for the write. A failed write ends the run. */
  placed(seq: number, worker: string): void {
    this.writeStart(seq);
    this.write(() => this.store.placed(this.batch, seq, worker)).catch(() => {});
  }

  /** Rejects if a task that completes in the same turn cannot be stored. */
  completed(
    seq: number,
    result: string | undefined,
    durationMs: number,
    blobs?: readonly StoredBlob[],
    isCached = false,
    usage?: StoredUsage,
  ): Promise<void> {
    if (this.completions === undefined) {
      const tasks: Completion[] = [];
      this.completions = { tasks, written: this.writeCompleted(tasks) };
    }
    this.waiting++;
    this.waitingCharacters += result?.length ?? 0;
    this.completions.tasks.push({
      seq,
      result,
      endedAt: Date.now(),
      startedAt: this.takeStart(seq),
      durationMs,
      blobs,
      isCached,
      usage,
    });
    const { tasks: together, written } = this.completions;
    if (together.length === MAX_TOGETHER) this.completions = undefined;
    return written;
  }

  ended(seq: number, end: TaskEnd, durationMs?: number): Promise<void> {
    const startedAt = this.takeStart(seq);
    return this.write(() => this.store.ended(this.batch, seq, end, Date.now(), startedAt, durationMs));
  }

  /** Ends the open items of a group and returns their number. */
  async itemsEnded(groupSeq: number, end: Unsuccessful): Promise<number> {
    let count = 0;
    await this.write(async () => {
      count = await this.store.endItems(this.batch, groupSeq, end, Date.now());
    });
    return count;
  }

  /** Ends all open tasks and returns their number. */
  async restEnded(end: Unsuccessful): Promise<number> {
    let count = 0;
    await this.write(async () => {
      count = await this.store.endOpen(this.batch, end, Date.now());
    });
    return count;
  }

  spent(seq: number, spending: Spending): Promise<void> {
    return this.write(() => this.store.spent(this.batch, seq, spending));
  }

  /** An attempt failed, and a retry follows. */
  attemptFailed(seq: number, attempt: FailedAttempt): Promise<void> {
    this.writeStart(seq);
    return this.write(() => this.store.attemptFailed(this.batch, seq, attempt));
  }

  /** Reopens a task that has started, for a later attempt or run. */
  putBack(seq: number, durationMs: number, message: string): Promise<void> {
    const startedAt = this.takeStart(seq);
    return this.write(() => this.store.putBack(this.batch, seq, message, Date.now(), startedAt, durationMs));
  }

  /** Writes nothing more. */
  close(error: unknown): void {
    if (this.hasFailed) return;
    this.hasFailed = true;
    this.failure = error;
  }

  private readonly writeStarts = (): void => {
    for (const seq of [...this.starts.keys()]) this.writeStart(seq);
  };

  private async writeCompleted(tasks: readonly Completion[]): Promise<void> {
    await nextTurn();
    if (this.completions?.tasks === tasks) this.completions = undefined;
    if (this.hasFailed) throw this.failure;
    try {
      await this.store.completed(this.batch, tasks);
    } catch {
      // One of them caused the error. The others are stored one by one.
      await Promise.all(tasks.map((task) => this.write(() => this.store.completed(this.batch, [task]))));
    } finally {
      this.waiting -= tasks.length;
      for (const { seq, result } of tasks) {
        this.waitingCharacters -= result?.length ?? 0;
        this.held.delete(seq);
      }
      this.releaseHeld();
    }
  }

  private releaseHeld(): void {
    for (const [seq, release] of this.held) {
      if (!this.mayWait || this.hasFailed) return;
      this.held.delete(seq);
      release();
    }
  }

  private takeStart(seq: number): number | undefined {
    const at = this.starts.get(seq);
    if (at !== undefined) this.starts.delete(seq);
    return at;
  }

  private writeStart(seq: number): void {
    const at = this.takeStart(seq);
    if (at === undefined) return;
    this.write(() => this.store.started(this.batch, seq, at)).catch(() => {});
  }

  private async write(work: () => Promise<void>): Promise<void> {
    if (this.hasFailed) throw this.failure;
    try {
      await work();
    } catch (error) {
      if (!this.hasFailed) {
        this.close(error);
        this.onFailure(error);
      }
      throw error;
    }
    // What was written is true, but what it allows must not begin any more: another process may go on with the batch.
    if (this.hasFailed) throw this.failure;
  }
}
