import { createHash } from 'node:crypto';
import { type Dirent, lstatSync, readdirSync, readFileSync, readlinkSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { VolleyError } from '../../core/errors.ts';
import { countText } from '../../core/words.ts';

/** The files of a folder at one moment, by their relative paths. */
export interface FolderSnapshot {
  readonly files: ReadonlyMap<string, FileState>;
  /** Whether there was room for what `node_modules` holds. */
  readonly hasModules: boolean;
}

const MAX_FILES = 250_000;
const MAX_BYTES = 256 * 1024 * 1024;
/** How long the rest of the process waits for it at a time. */
const SLICE_MS = 10;
const MODULES = 'node_modules';
/** Folders of `node_modules` with a leading dot are caches, but for these. */
const HELD_BY_MODULES = ['.bin', '.pnpm', '.store'];

/** Looks at all files of a folder but those that `isPassedOver` names. What was read for an earlier one is read only once. */
export async function snapshotFolder(
  root: string,
  isPassedOver: (path: string) => boolean,
  before?: FolderSnapshot,
): Promise<FolderSnapshot> {
  const walk = new Walk(root, isPassedOver, before);
  for (;;) {
    const until = performance.now() + SLICE_MS;
    while (performance.now() < until) {
      if (!walk.step()) return walk.result();
    }
    await turn();
  }
}

/** What differs, sorted. */
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
  /** Last, for there are the most of them. */
  private readonly modules: string[] = [];
  private hasModules = true;
  /** Entries of the folder that is being looked at. */
  private entries: readonly Dirent[] = [];
  private at = 0;
  private folder = '';
  private bytesLeft = MAX_BYTES;

  constructor(
    private readonly root: string,
    private readonly isPassedOver: (path: string) => boolean,
    private readonly before: FolderSnapshot | undefined,
  ) {}

  result(): FolderSnapshot {
    return { files: this.files, hasModules: this.hasModules };
  }

  /** Looks at one more entry; false when there is none. */
  step(): boolean {
    const entry = this.entries[this.at++];
    if (entry !== undefined) {
      this.look(entry);
      return true;
    }
    const folder = this.folders.pop() ?? this.modules.pop();
    if (folder === undefined) return false;
    this.folder = folder;
    this.entries = entriesOf(join(this.root, folder));
    this.at = 0;
    return true;
  }

  private look(entry: Dirent): void {
    const { name } = entry;
    const path = this.folder === '' ? name : `${this.folder}/${name}`;
    // What of git counts is looked at elsewhere.
    if (name === '.git' || this.isPassedOver(path)) return;
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
    const file = join(this.root, path);
    const stats = statsOf(file);
    // Gone meanwhile; but a name that is no text is not found either, and has to count.
    if (stats === undefined && !path.includes('\ufffd')) return;
    if (this.files.size >= MAX_FILES) this.giveUp(path);
    else {
      const before = this.before?.files.get(path);
      const known = stats === undefined ? UNKNOWN : fileStateOf(stats, before, Date.now());
      this.files.set(path, known.hash === undefined ? this.read(entry, path, file, known) : known);
    }
  }

  private read(entry: Dirent, path: string, file: string, state: FileState): FileState {
    if (entry.isSymbolicLink()) return { ...state, hash: hashOfLink(file) };
    const { size } = state;
    if (!entry.isFile() || size > MAX_HASHED_BYTES || size > this.bytesLeft) return state;
    // Packages are many; of what tells which there are, the content counts.
    if (isInNodeModules(path) && !isModulesFolder(this.folder)) return state;
    this.bytesLeft -= size;
    return { ...state, hash: hashOfFile(file) };
  }

  private giveUp(path: string): void {
    if (!isInNodeModules(path)) {
      const message = `${this.root} holds more than ${countText(MAX_FILES, 'file')}, so it cannot be told what agents touch there: move what is no source out of it.`;
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

function statsOf(file: string): Stats | undefined {
  try {
    return lstatSync(file);
  } catch {
    return undefined;
  }
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    // Gone meanwhile, or closed to us.
    return [];
  }
}

export function isInNodeModules(path: string): boolean {
  return `/${path}/`.includes(`/${MODULES}/`);
}

function isModulesFolder(folder: string): boolean {
  return folder === MODULES || folder.endsWith(`/${MODULES}`);
}

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
export function fileStateOf(stats: Stats, before: FileState | undefined, now: number): FileState {
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
