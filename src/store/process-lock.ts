import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import { isBusy } from './store-error.ts';

/** After this long, later requests of this process let waiting processes go first. */
const TURN_MS = 250;
const FIRST_PAUSE_MS = 2;
const MAX_PAUSE_MS = 25;

export type LockMode = 'shared' | 'exclusive';

/** Callbacks around waiting for another process. */
export interface LockWait {
  /** Aborts the wait with its reason. */
  readonly signal: AbortSignal;
  /** Called when another process holds the lock. */
  onWait(): void;
}

/**
 * A lock between processes. All users in this process share it; who may run next to whom here is decided elsewhere. It
 * is an operating system lock on an empty file opened by SQLite, so it ends with its process, however that dies.
 * Waiters lock a second file, so that the owner knows about them.
 */
export class ProcessLock {
  private lock: DatabaseSyncInstance | undefined;
  private waiting: DatabaseSyncInstance | undefined;
  private mode: LockMode = 'shared';
  private users = 0;
  private turnSince = 0;
  /** The last request of this process; requests are served in order. */
  private last: Promise<unknown> = Promise.resolve();
  private onFree: (() => void) | undefined;

  constructor(
    private readonly folder: string,
    private readonly name: string,
  ) {}

  /** Returns a function that releases the lock. */
  acquire(mode: LockMode, wait: LockWait): Promise<() => void> {
    const turn = this.last.then(() => this.take(mode, wait));
    this.last = turn.catch(() => {});
    const { signal } = wait;
    return new Promise((resolve, reject) => {
      // A queued request can be aborted without waiting for those before it.
      const stop = () => reject(signal.reason);
      signal.addEventListener('abort', stop);
      turn
        .then((release) => {
          if (signal.aborted) release();
          else resolve(release);
        }, reject)
        .finally(() => signal.removeEventListener('abort', stop));
    });
  }

  /** Called when the lock is no longer held. */
  close(): void {
    this.lock?.close();
    this.waiting?.close();
    this.lock = undefined;
    this.waiting = undefined;
  }

  private async take(mode: LockMode, { signal, onWait }: LockWait): Promise<() => void> {
    signal.throwIfAborted();
    this.lock ??= await this.open('lock');
    this.waiting ??= await this.open('waiting');
    let hasWaited = false;
    let isQueued = false;
    try {
      for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
        if (this.canJoin(mode)) break;
        if (this.users > 0) {
          await this.untilFree(signal);
          continue;
        }
        const goesFirst = isQueued || !this.isAwaited();
        if (goesFirst && tryBegin(this.lock, mode)) {
          this.mode = mode;
          this.turnSince = performance.now();
          break;
        }
        isQueued ||= tryBegin(this.waiting, 'shared');
        if (!hasWaited) onWait();
        hasWaited = true;
        await pause(pauseMs, signal);
      }
    } finally {
      if (isQueued) this.waiting.exec('ROLLBACK');
    }
    this.users++;
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      this.release();
    };
  }

  private canJoin(mode: LockMode): boolean {
    if (this.users === 0 || (mode === 'exclusive' && this.mode === 'shared')) return false;
    const now = performance.now();
    if (now - this.turnSince < TURN_MS) return true;
    if (this.isAwaited()) return false;
    this.turnSince = now;
    return true;
  }

  private release(): void {
    if (--this.users > 0) return;
    this.lock!.exec('ROLLBACK');
    this.onFree?.();
  }

  private untilFree(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = () => {
        this.onFree = undefined;
        signal.removeEventListener('abort', end);
        if (signal.aborted) reject(signal.reason);
        else resolve();
      };
      this.onFree = end;
      signal.addEventListener('abort', end);
    });
  }

  /** Whether another process waits. */
  private isAwaited(): boolean {
    if (!tryBegin(this.waiting!, 'exclusive')) return true;
    this.waiting!.exec('ROLLBACK');
    return false;
  }

  /** Loads SQLite on demand. */
  private async open(kind: string): Promise<DatabaseSyncInstance> {
    const { DatabaseSync } = await import('@photostructure/sqlite');
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    return new DatabaseSync(join(this.folder, `${this.name}.${kind}`), { timeout: 0 });
  }
}

function tryBegin(connection: DatabaseSyncInstance, mode: LockMode): boolean {
  try {
    if (mode === 'exclusive') connection.exec('BEGIN EXCLUSIVE');
    else connection.exec('BEGIN; SELECT 1 FROM sqlite_schema');
    return true;
  } catch (error) {
    // Reading for a shared lock may fail inside a transaction that has begun.
    if (connection.isTransaction) connection.exec('ROLLBACK');
    if (isBusy(error)) return false;
    throw error;
  }
}

/** Jitter, so that waiters do not retry at the same time. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      if (signal.aborted) reject(signal.reason);
      else resolve();
    };
    const timer = setTimeout(end, ms * (0.5 + Math.random()));
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
  });
}
