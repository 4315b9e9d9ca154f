import { internalError, VolleyError } from '../core/errors.ts';

/** SQLite primary result codes, the low byte of `errcode`. */
const BUSY = 5;
const READONLY = 8;
const CORRUPT = 11;
const FULL = 13;
const CANTOPEN = 14;
const CONSTRAINT = 19;
const TOO_BIG = 18;
const NOT_A_DATABASE = 26;
/** System errors: no permission, out of memory, I/O error and so on. */
const SYSTEM_ERRORS: ReadonlySet<number> = new Set([3, 6, 7, 10, 15, 22, 23]);

/** The SQLite result code of an error, if it has one. */
export function sqliteCode(error: unknown): number | undefined {
  const code = error instanceof Error ? (error as { errcode?: unknown }).errcode : undefined;
  return typeof code === 'number' ? code & 0xff : undefined;
}

/** Whether another connection holds the lock. */
export function isBusy(error: unknown): boolean {
  return sqliteCode(error) === BUSY;
}

/** Whether it failed because the file, or one next to it, is not writable. */
export function needsWriting(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === READONLY || code === CANTOPEN;
}

/** Whether a row with the same key exists. */
export function isConstraint(error: unknown): boolean {
  return sqliteCode(error) === CONSTRAINT;
}

/** Converts any error with the file to one for the caller. */
export function storeError(error: unknown, file: string): Error {
  if (error instanceof VolleyError) return error;
  const code = sqliteCode(error);
  const reason = error instanceof Error ? error.message : String(error);
  switch (code) {
    case undefined:
      return error instanceof Error ? error : internalError(reason);
    case CORRUPT:
    case NOT_A_DATABASE:
      return damaged(file, reason, error);
    case FULL:
      return unavailable(file, 'the disk is full. Free some space and try again', error);
    case READONLY:
      return unavailable(
        file,
        'the file or its folder is not writable. Change the permissions or use another folder',
        error,
      );
    case CANTOPEN:
      return unavailable(
        file,
        `it cannot be opened (${reason}). Check that its folder exists and is writable`,
        error,
      );
    case BUSY:
      return unavailable(
        file,
        'another process held its lock for too long. Try again, or check for a hanging process',
        error,
      );
    case TOO_BIG:
      return new VolleyError(
        'INVALID_VALUE',
        `A string is too long for the store: ${reason}.`,
        { file },
        { cause: error },
      );
    default:
      if (SYSTEM_ERRORS.has(code)) return unavailable(file, `the system reports: ${reason}`, error);
      return internalError(`The store ${file} failed: ${reason}`);
  }
}

/** The file is left untouched: its content may be worth more than the work at hand. */
export function damaged(file: string, reason: string, cause?: unknown): VolleyError {
  return new VolleyError(
    'STORE_DAMAGED',
    `The store ${file} cannot be used: ${reason}. It was not changed. Move it away together with ${file}-wal and ` +
      `${file}-shm to start with an empty store, or restore a backup.`,
    { file },
    { cause },
  );
}

export function unavailable(file: string, reason: string, cause?: unknown): VolleyError {
  return new VolleyError(
    'STORE_UNAVAILABLE',
    `The store ${file} is not available: ${reason}.`,
    { file },
    { cause },
  );
}

/** Runs something that touches the file and converts SQLite errors. */
export function translated<T>(file: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw storeError(error, file);
  }
}
