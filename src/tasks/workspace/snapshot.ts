import { createHash } from 'node:crypto';
import { type Dirent, readFileSync, readlinkSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { VolleyError } from '../../core/errors.ts';
import { countText } from '../../core/words.ts';
import { folderEntries, lstatIfAny } from '../../git/folder-entries.ts';

/** The files of a folder at one moment, by relative path. */
export interface FolderSnapshot {
  readonly files: ReadonlyMap<string, FileState>;
  /** False if there were too many files to include `node_modules`. */
  readonly hasModules: boolean;
}

const MAX_FILES = 250_000;
const MAX_BYTES = 256 * 1024 * 1024;
/** How long the event loop may be blocked at a time. */
const SLICE_MS = 10;
const MODULES = 'node_modules';
/** Dot folders in `node_modules` are caches, except these. */
const HELD_BY_MODULES = ['.bin', '.pnpm', '.store'];

/** Visits all files that are not ignored. Contents read for an earlier snapshot are not read again. */
export async function snapshotFolder(
  root: string,
  isIgnored: (path: string) => boolean,
  before?: FolderSnapshot,
): Promise<FolderSnapshot> {
  const walk = new Walk(root, isIgnored, before);
  for (;;) {
    const until = performance.now() + SLICE_MS;
    while (performance.now() < until) {
      if (!walk.step()) return walk.result();
    }
    await turn();
  }
}

/** The sorted paths that differ. */
export function changesBetween(before: FolderSnapshot, after: FolderSnapshot): string[] {
  const changed: string[] = [];
  for (const [path, state] of after.files) {
    const old = before.files.get(path);
    if (old === undefined || !isSameFile(old, state)) changed.push(path);
  }
  for (const path of before.files.keys()) if (!after.files.has(path)) changed.push(path);
  const isComparable = before.hasModules && after.hasModules;
  return (isComparable ? changed : changed.filter((path) => !isInNodeModules(path))).sort();
}

class Walk {
  private readonly files = new Map<string, FileState>();
  private readonly folders: string[] = [''];
  /** Visited last, since there are so many. */
  private readonly modules: string[] = [];
  private hasModules = true;
  /** The entries of the current folder. */
  private entries: readonly Dirent[] = [];
  private at = 0;
  private folder = '';
  private bytesLeft = MAX_BYTES;

  constructor(
    private readonly root: string,
    private readonly isIgnored: (path: string) => boolean,
    private readonly before: FolderSnapshot | undefined,
  ) {}

  result(): FolderSnapshot {
    return { files: this.files, hasModules: this.hasModules };
  }

  /** Visits one more entry; false at the end. */
  step(): boolean {
    const entry = this.entries[this.at++];
    if (entry !== undefined) {
      this.look(entry);
      return true;
    }
    const folder = this.folders.pop() ?? this.modules.pop();
    if (folder === undefined) return false;
    this.folder = folder;
    this.entries = folderEntries(join(this.root, folder));
    this.at = 0;
    return true;
  }

  private look(entry: Dirent): void {
    const { name } = entry;
    const path = this.folder === '' ? name : `${this.folder}/${name}`;
    // The refs of git are compared elsewhere.
    if (name === '.git' || this.isIgnored(path)) return;
    if (entry.isDirectory()) this.enter(name, path);
    else this.note(entry, path);
  }

  private enter(name: string, path: string): void {
    const isModules = isInNodeModules(path);
    if (isModules && !this.hasModules) return;
    const isCache = name.startsWith('.') && !HELD_BY_MODULES.includes(name);
    if (isCache && isModulesFolder(this.folder)) return;
    (isModules ? this.modules : this.folders).push(path);
  }

  private note(entry: Dirent, path: string): void {
    // Not joined: it is normal already, and this happens for every file.
    const file = `${this.root}/${path}`;
    const stats = lstatIfAny(file);
    // Gone meanwhile. Names that are not valid text cannot be looked up, but must count.
    if (stats === undefined && !path.includes('\ufffd')) return;
    if (this.files.size >= MAX_FILES) this.giveUp(path);
    else {
      const before = this.before?.files.get(path);
      const known = stats === undefined ? UNKNOWN : fileStateOf(stats, before, Date.now());
      this.files.set(path, known.hash === undefined ? this.read(entry, path, file, known) : known);
    }
  }

  private read(entry: Dirent, path: string, file: string, state: FileState): FileState {
    if (entry.isSymbolicLink()) return { ...state, hash: contentHash(file, true) };
    const { size } = state;
    if (!entry.isFile() || size > MAX_HASHED_BYTES || size > this.bytesLeft) return state;
    // Inside packages, times are enough; only the top level of `node_modules` is compared by content.
    if (isInNodeModules(path) && !isModulesFolder(this.folder)) return state;
    this.bytesLeft -= size;
    return { ...state, hash: contentHash(file, false) };
  }

  private giveUp(path: string): void {
    if (!isInNodeModules(path)) {
      const message = `${this.root} has more than ${countText(MAX_FILES, 'file')}, too many to track what agents change. Move files that are not source out of it.`;
      throw new VolleyError('WORKSPACE_UNAVAILABLE', message, { folder: this.root });
    }
    this.hasModules = false;
    this.modules.length = 0;
    this.at = this.entries.length;
  }
}

const UNKNOWN: FileState = {
  size: 0,
  mtimeMs: 0,
  ctimeMs: 0,
  ino: 0,
  mode: 0,
  nlink: 0,
  hash: undefined,
  isFresh: false,
};

function isInNodeModules(path: string): boolean {
  return `/${path}/`.includes(`/${MODULES}/`);
}

function isModulesFolder(folder: string): boolean {
  return folder === MODULES || folder.endsWith(`/${MODULES}`);
}

interface FileState {
  readonly size: number;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
  readonly ino: number;
  readonly mode: number;
  readonly nlink: number;
  /** The hash of the content, if it was read. */
  readonly hash: string | undefined;
  /** Changed so recently that a later change may have the same time. */
  readonly isFresh: boolean;
}

/** The resolution of file times; some file systems store whole seconds only. */
const TICK_MS = 50;
const COARSE_TICK_MS = 2000;

/** Larger files are compared by their times. */
const MAX_HASHED_BYTES = 2 * 1024 * 1024;

/** The state without reading the file, or the earlier state if the file is unchanged since. */
export function fileStateOf(stats: Stats, before: FileState | undefined, now: number): FileState {
  const { size, mtimeMs, ctimeMs, ino, mode, nlink } = stats;
  const newest = Math.max(mtimeMs, ctimeMs);
  const isFresh = newest > now - (newest % 1000 === 0 ? COARSE_TICK_MS : TICK_MS);
  const state = { size, mtimeMs, ctimeMs, ino, mode, nlink, hash: undefined, isFresh };
  return before !== undefined && !before.isFresh && isUntouched(before, state) ? before : state;
}

/** Undefined if it is gone or unreadable; then its times decide. */
function contentHash(path: string, isLink: boolean): string | undefined {
  try {
    if (isLink) return `-> ${readlinkSync(path)}`;
    return createHash('sha256').update(readFileSync(path)).digest('base64');
  } catch {
    return undefined;
  }
}

/** Compares by content if both hashes are known, otherwise by metadata. */
function isSameFile(before: FileState, after: FileState): boolean {
  if (before === after) return true;
  if (before.mode !== after.mode) return false;
  if (before.hash !== undefined && after.hash !== undefined) return before.hash === after.hash;
  if (before.size !== after.size || before.mtimeMs !== after.mtimeMs || before.ino !== after.ino)
    return false;
  // `ctime` cannot be forged, but a hard link from elsewhere changes it too.
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
