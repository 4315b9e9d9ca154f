import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { VolleyError } from '../core/errors.ts';
import { spanText } from '../core/words.ts';
import { isBusy } from './store-error.ts';

const FILE = '.lock';
/** A holder only writes a few small files. */
const WAIT_MS = 30_000;
const MIN_PAUSE_MS = 2;
const MAX_PAUSE_MS = 25;

/**
 * Runs `work` while no other process holds the lock of this folder. It is an operating system lock, taken through SQLite
 * on an empty file, so it ends with its process and is never left behind.
 */
export async function withFolderLock<T>(
  folder: string,
  work: () => Promise<T>,
  waitMs = WAIT_MS,
): Promise<T> {
  const file = join(folder, FILE);
  const connection = await open(file);
  try {
    await acquire(connection, file, waitMs);
    try {
      return await work();
    } finally {
      connection.exec('ROLLBACK');
    }
  } finally {
    connection.close();
  }
}

/** Loads SQLite on demand: commands that only read do not need it. */
async function open(file: string) {
  const { DatabaseSync } = await import('@photostructure/sqlite');
  try {
    return new DatabaseSync(file, { timeout: 0 });
  } catch (error) {
    throw lockError(file, 'cannot be opened', error);
  }
}

async function acquire(connection: { exec(sql: string): void }, file: string, waitMs: number) {
  const deadline = performance.now() + waitMs;
  for (let pauseMs = MIN_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
    try {
      connection.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
      return;
    } catch (error) {
      if (!isBusy(error)) throw lockError(file, 'is not a lock file', error);
      if (performance.now() >= deadline) throw heldError(file, waitMs);
    }
    // Random, so that waiting processes do not retry in step.
    await sleep(pauseMs * (0.5 + Math.random()));
  }
}

function heldError(file: string, waitMs: number): VolleyError {
  const pid = holderOf(file);
  const who = pid === undefined ? 'Another process' : `Process ${pid}`;
  const message = `${who} has held ${file} for more than ${spanText(waitMs)}, so nothing was written. If it hangs, end it and try again.`;
  return new VolleyError('TASKS_LOCKED', message, { file, pid });
}

function lockError(file: string, what: string, cause: unknown): VolleyError {
  const message = `Cannot lock the tasks: ${file} ${what} (${(cause as Error).message}). Nothing was written. Check the folder's permissions; the lock file may be deleted.`;
  return new VolleyError('TASKS_LOCKED', message, { file }, { cause });
}

/** The process that holds the lock, where the system reports it. */
function holderOf(file: string): number | undefined {
  try {
    const inode = `:${statSync(file).ino}`;
    const line = readFileSync('/proc/locks', 'utf8')
      .split('\n')
      .find((one) => one.includes('WRITE') && one.split(/\s+/)[5]?.endsWith(inode));
    const pid = Number(line?.split(/\s+/)[4]);
    return pid > 0 ? pid : undefined;
  } catch {
    return undefined;
  }
}
