import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { VolleyError } from '../../core/errors.ts';
import { spanText } from '../../core/words.ts';
import { isBusy } from '../../store/store-error.ts';
import { batchNameOf } from './feature.ts';
import type { TaskFolder } from './task-folder.ts';

const FILE = '.lock';
/** Whoever has the lock writes a few small files. */
const PATIENCE_MS = 30_000;
const FIRST_PAUSE_MS = 2;
const LONGEST_PAUSE_MS = 25;

/**
 * Does something while no other process does the same with this folder. The lock is one of the operating system's, on
 * an empty file that SQLite opens: it ends with the process that has it, however that dies, so that none is left behind.
 */
export async function withFolderLock<T>(
  folder: string,
  work: () => Promise<T>,
  patienceMs = PATIENCE_MS,
): Promise<T> {
  const file = join(folder, FILE);
  const connection = await open(file);
  try {
    await acquire(connection, file, patienceMs);
    try {
      return await work();
    } finally {
      connection.exec('ROLLBACK');
    }
  } finally {
    connection.close();
  }
}

/** SQLite is loaded by those who write only. */
async function open(file: string) {
  const { DatabaseSync } = await import('@photostructure/sqlite');
  try {
    return new DatabaseSync(file, { timeout: 0 });
  } catch (error) {
    throw lockError(file, `${file} cannot be opened (${(error as Error).message})`, error);
  }
}

async function acquire(
  connection: { exec(sql: string): void },
  file: string,
  patienceMs: number,
): Promise<void> {
  const deadline = performance.now() + patienceMs;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    try {
      connection.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
      return;
    } catch (error) {
      if (!isBusy(error)) throw lockError(file, `${file} is no lock (${(error as Error).message})`, error);
      if (performance.now() >= deadline) throw heldError(file, patienceMs);
    }
    // Not all at the same moment again.
    await sleep(pauseMs * (0.5 + Math.random()));
  }
}

function heldError(file: string, patienceMs: number): VolleyError {
  const pid = holderOf(file);
  const who = pid === undefined ? 'Another process' : `Process ${pid}`;
  const message = `${who} has held ${file} for longer than ${spanText(patienceMs)}, so nothing was written. See what it does, end it if it hangs, and try again.`;
  return new VolleyError('TASKS_LOCKED', message, { file, pid });
}

function lockError(file: string, what: string, cause: unknown): VolleyError {
  const message = `The tasks cannot be locked: ${what}. Nothing was written; see to that file (it may be deleted) and its folder.`;
  return new VolleyError('TASKS_LOCKED', message, { file }, { cause });
}

/** The process that has the lock, as far as the system tells. */
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

/** A run that has just been killed is gone in no time; one that lives keeps its lock. */
const RUN_PATIENCE_MS = 300;

/** Two runs of one feature would get in each other's way, and so would whoever removes their worktrees. */
export async function withRunLock<T>(
  folder: TaskFolder,
  feature: string,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await withFolderLock(join(folder.path, feature), work, RUN_PATIENCE_MS);
  } catch (error) {
    if (!(error instanceof VolleyError && error.code === 'TASKS_LOCKED' && 'pid' in error.details))
      throw error;
    const { pid } = error.details;
    const who = pid === undefined ? 'another process' : `process ${pid}`;
    throw new VolleyError(
      'FEATURE_RUNNING',
      `${feature} is being run by ${who}. Follow it with volley watch --batch ${batchNameOf(feature)}, or wait for its end.`,
      { feature, pid },
    );
  }
}
