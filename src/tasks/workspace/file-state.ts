import { createHash } from 'node:crypto';
import { readFileSync, readlinkSync, type Stats } from 'node:fs';

/** What is known of a file at one moment. */
export interface FileState {
  readonly size: number;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
  readonly ino: number;
  readonly mode: number;
  readonly nlink: number;
  /** Of the content, where it was read. */
  readonly hash: string | undefined;
  /** Changed so shortly before that a later change may bear the same time. */
  readonly isFresh: boolean;
}

/** Clocks of files tick some milliseconds apart; those of some file systems know whole seconds only. */
const TICK_MS = 50;
const COARSE_TICK_MS = 2000;

/** Larger ones are known by their times. */
export const MAX_HASHED_BYTES = 2 * 1024 * 1024;

/** What is known without reading the file, or what was read before if it has not been changed since. */
export function stateOf(stats: Stats, before: FileState | undefined, now: number): FileState {
  const { size, mtimeMs, ctimeMs, ino, mode, nlink } = stats;
  const newest = Math.max(mtimeMs, ctimeMs);
  const isFresh = newest > now - (newest % 1000 === 0 ? COARSE_TICK_MS : TICK_MS);
  const state = { size, mtimeMs, ctimeMs, ino, mode, nlink, hash: undefined, isFresh };
  return before !== undefined && !before.isFresh && isUntouched(before, state) ? before : state;
}

export function hashOfFile(path: string): string | undefined {
  try {
    return hashOf(readFileSync(path));
  } catch {
    // Gone, or not to be read: its times have to do.
    return undefined;
  }
}

export function hashOfLink(path: string): string | undefined {
  try {
    return `-> ${readlinkSync(path)}`;
  } catch {
    return undefined;
  }
}

function hashOf(content: Buffer | string): string {
  return createHash('sha256').update(content).digest('base64');
}

/** By content, as far as it is known on both sides; otherwise by what the file system says. */
export function isSameFile(before: FileState, after: FileState): boolean {
  if (before === after) return true;
  if (before.mode !== after.mode) return false;
  if (before.hash !== undefined && after.hash !== undefined) return before.hash === after.hash;
  if (before.size !== after.size || before.mtimeMs !== after.mtimeMs || before.ino !== after.ino)
    return false;
  // The other time cannot be set at will; but a link from elsewhere moves it as well.
  return before.ctimeMs === after.ctimeMs || before.nlink !== after.nlink;
}

function isUntouched(a: FileState, b: FileState): boolean {
  return (
    a.size === b.size &&
    a.mtimeMs === b.mtimeMs &&
    a.ctimeMs === b.ctimeMs &&
    a.ino === b.ino &&
    a.mode === b.mode
  );
}
