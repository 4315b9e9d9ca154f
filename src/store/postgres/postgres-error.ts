import { internalError, VolleyError } from '../../core/errors.ts';

/** SQLSTATE of conditions that have a remedy of their own. */
const WRONG_LOGIN: ReadonlySet<string> = new Set(['28000', '28P01']);
const NO_DATABASE = '3D000';
const NO_SCHEMA = '3F000';
const NO_TABLE = '42P01';
const NO_PERMISSION = '42501';
const DISK_FULL = '53100';
const LOCK_TIMEOUT = '55P03';
const TIMEOUT = '57014';
const READ_ONLY = '25006';
const TOO_LARGE = '54000';
const REPEATABLE: ReadonlySet<string> = new Set(['40001', '40P01']);
const NO_CONNECTION_LEFT = '53300';
/** The server ends, starts or has no connection left. */
const AWAY: ReadonlySet<string> = new Set(['57P01', '57P02', '57P03', NO_CONNECTION_LEFT, '25P03', '57P05']);
const CONNECTION = /^08/;
const SQLSTATE_LENGTH = 5;
/** Of the system. */
const SYSTEM: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOENT',
  'EAI_AGAIN',
  'ENOTFOUND',
  'ERR_STREAM_DESTROYED',
  'ERR_STREAM_WRITE_AFTER_END',
]);
/** The driver's message when the server requires a password and none is set. */
const NO_PASSWORD = /password must be a string/i;
/** What the driver says without a code. */
const MESSAGE =
  /connection (terminated|ended|error)|not queryable|timeout expired|read timeout|timeout exceeded/i;

function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined;
  return typeof code === 'string' ? code : undefined;
}

/** Whether the connection was lost or could not be made: the same may succeed later. */
export function isLost(error: unknown): boolean {
  if (error instanceof VolleyError || !(error instanceof Error)) return false;
  const code = codeOf(error);
  if (code === undefined) return MESSAGE.test(error.message);
  if (isFileMissing(error)) return false;
  return SYSTEM.has(code) || AWAY.has(code) || CONNECTION.test(code);
}

/** Whether the server has no connection left. */
export function isFull(error: unknown): boolean {
  return codeOf(error) === NO_CONNECTION_LEFT;
}

/** A certificate or key that the address names. The socket of a server that is not there has the same code. */
function isFileMissing(error: Error): boolean {
  return (error as NodeJS.ErrnoException).syscall === 'open';
}

/** Whether the transaction was undone because of another one, and would succeed now. */
export function isRepeatable(error: unknown): boolean {
  return REPEATABLE.has(codeOf(error) ?? '');
}

/** Whether the store was not made yet. */
export function isMissing(error: unknown): boolean {
  const code = codeOf(error);
  return code === NO_TABLE || code === NO_SCHEMA;
}

/** What went wrong while connecting. The driver reports some of it without a code: a missing password, a wrong certificate. */
export function connectError(error: unknown, place: string): unknown {
  if (error instanceof VolleyError || isLost(error) || codeOf(error)?.length === SQLSTATE_LENGTH)
    return error;
  const reason = error instanceof Error ? error.message : String(error);
  if (NO_PASSWORD.test(reason))
    return away(place, 'the server asks for a password. Set PGPASSWORD, or use ~/.pgpass', error);
  return away(place, reason, error);
}

/** Converts any error with the server to one for the caller. */
export function postgresError(error: unknown, place: string): Error {
  if (error instanceof VolleyError) return error;
  if (!(error instanceof Error)) return internalError(String(error));
  const code = codeOf(error);
  const reason = error.message.trim();
  if (isLost(error))
    return away(place, `the server cannot be reached or ended the connection (${reason})`, error);
  if (code === undefined) return error;
  if (WRONG_LOGIN.has(code))
    return away(
      place,
      `the login was refused (${reason}). Check the user, and the password in PGPASSWORD or ~/.pgpass`,
      error,
    );
  switch (code) {
    case NO_DATABASE:
      return away(place, `${reason}. Create it with createdb`, error);
    case NO_PERMISSION:
    case NO_SCHEMA:
      return away(
        place,
        `the user lacks a right (${reason}). See docs/store.md for the rights that it needs`,
        error,
      );
    case DISK_FULL:
      return away(place, 'the disk of the server is full. Free some space and try again', error);
    case LOCK_TIMEOUT:
      return away(place, 'another process held a lock for too long. Try again', error);
    case TIMEOUT:
      return away(place, `a statement took too long (${reason})`, error);
    case READ_ONLY:
      return away(
        place,
        'the server is read-only: it may be a standby. Use the address of the primary',
        error,
      );
    case TOO_LARGE:
      return new VolleyError(
        'INVALID_VALUE',
        `A value is too large for the store: ${reason}.`,
        { store: place },
        { cause: error },
      );
    default:
      if (code.startsWith('53') || code.startsWith('58') || code.startsWith('28'))
        return away(place, `the server reports: ${reason}`, error);
      return internalError(`The store ${place} failed: ${reason} (${code})`);
  }
}

export function away(place: string, reason: string, cause?: unknown): VolleyError {
  return new VolleyError(
    'STORE_UNAVAILABLE',
    `The store ${place} is not available: ${reason}.`,
    { store: place },
    { cause },
  );
}
