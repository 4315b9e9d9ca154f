import { type BigIntStats, existsSync, lstatSync, realpathSync, statSync } from 'node:fs';
import { type FileHandle, lstat, open, readlink, realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import type { VolleyError } from '../../core/errors.ts';
import type { PathProtection } from './environment.ts';
import { codeOf, permanentFailure, quoted, refusal } from './refusal.ts';

const MAX_PATH_LENGTH = 4096;
const MAX_NAME_BYTES = 255;
const MAX_SHOWN_ROOTS = 3;
/** Files there are interfaces to the system and to this process, even if `/` is a root. */
const SYSTEM_FOLDERS = ['/proc', '/sys', '/dev'];
const DESCRIPTORS = '/proc/self/fd';
/** A file in progress is private until it gets its final mode. */
const MODE_OF_NEW = 0o600;

/** How to find the real path of an open file: by its descriptor, or by resolving its path again. */
export type Verification = 'descriptor' | 'path';

const BEST_VERIFICATION: Verification = existsSync(DESCRIPTORS) ? 'descriptor' : 'path';

/** A root as it was at the start. */
interface Root {
  readonly real: string;
  readonly stats: BigIntStats;
}

/**
 * The folders in which the file tools may work. The real location of a file counts, with symbolic links followed, and
 * it is determined from the open file, so swapping a link has no effect. The roots themselves are resolved once, at the
 * start: a root inside another one could be replaced with a link later.
 */
export class Roots {
  private readonly configured: readonly string[];
  /** As configured, and as real paths. */
  private readonly names: readonly string[];
  private readonly found: readonly Root[];
  /** The base of relative paths. */
  private readonly base: string | undefined;

  constructor(
    paths: readonly string[],
    readonly verification: Verification = BEST_VERIFICATION,
    private readonly protection?: PathProtection,
  ) {
    const absolute = paths.map((path) => resolve(path));
    const roots = absolute.map(findRoot);
    this.configured = absolute;
    this.found = roots.filter((root) => root !== undefined);
    this.names = [...absolute, ...this.found.map(({ real }) => real)];
    this.base = roots[0]?.real ?? absolute[0];
  }

  /** The absolute form of a caller's path, which must be lexically inside a root. */
  place(path: string): string {
    const problem = problemOf(path);
    if (problem !== undefined) throw notAllowed(path, problem);
    if (this.base === undefined) throw notAllowed(path, 'no root is configured');
    const absolute = resolve(this.base, path);
    if (!this.names.some((root) => isInside(absolute, root))) throw notAllowed(path, this.outside('is'));
    return absolute;
  }

  /** The real path. Fails if it does not exist or is outside the roots. */
  async realPlace(path: string): Promise<string> {
    const real = await realpath(this.place(path));
    this.checkReal(real, path);
    return real;
  }

  /** Opens a path and returns it only if its target is inside a root. `path` may go through a descriptor. */
  async open(path: string, flags: number, named: string): Promise<FileHandle> {
    const handle = await open(path, flags, MODE_OF_NEW).catch((error) => {
      throw codeOf(error) === 'ELOOP' ? notAllowed(named, 'it became a symbolic link meanwhile') : error;
    });
    try {
      this.checkReal(await this.placeOf(handle, path, named), named);
      return handle;
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** A path to the open folder that stays valid if the folder is moved or replaced. */
  pathOf(folder: FileHandle, path: string): string {
    return this.verification === 'descriptor' ? `${DESCRIPTORS}/${folder.fd}` : path;
  }

  /** A canonical name for a file, used for locks before anything is opened. */
  lockName(path: string): string {
    if (problemOf(path) !== undefined) return `file:${resolve('/', 'invalid')}`;
    return `file:${realAsFarAsItExists(resolve(this.base ?? '/', path))}`;
  }

  /** The size of a file, 0 if unknown: only an estimate of its needs. Whether it may be read is checked later. */
  sizeOf(path: string): number {
    if (problemOf(path) !== undefined) return 0;
    try {
      return statSync(resolve(this.base ?? '/', path), { throwIfNoEntry: false })?.size ?? 0;
    } catch {
      return 0;
    }
  }

  /** Rejects paths that tools may not write. `real` is a path inside the roots that need not exist. */
  checkWritable(real: string, named: string): void {
    const found = this.protection?.protects(real);
    if (found !== undefined) throw protectedPath(named, found);
  }

  /** Whether a real path is hidden from tools. */
  hides(real: string): boolean {
    return this.protection?.hides(real) === true;
  }

  /** The real path of an open file; `path` is the one it was opened with. */
  async placeOf(handle: FileHandle, path: string, named: string): Promise<string> {
    if (this.verification === 'descriptor') return readlink(`${DESCRIPTORS}/${handle.fd}`);
    const real = await realpath(path);
    const [opened, found] = await Promise.all([handle.stat(), lstat(real)]);
    if (opened.dev !== found.dev || opened.ino !== found.ino) throw notAllowed(named, 'it changed meanwhile');
    return real;
  }

  /** Roots below the working directory are named as seen from there. */
  private outside(verb: 'is' | 'leads'): string {
    const here = process.cwd();
    const shown = this.configured.slice(0, MAX_SHOWN_ROOTS).map((root) => {
      const name = isInside(root, here) ? relative(here, root) || '.' : root;
      return quoted(name);
    });
    const more = this.configured.length - shown.length;
    const roots = `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
    return `it ${verb} outside the roots (${roots}); to add a root, set tools.roots`;
  }

  private checkReal(real: string, named: string): void {
    if (this.found.length === 0) throw permanentFailure('None of the configured roots existed at the start.');
    const roots = this.found.filter((root) => isInside(real, root.real));
    if (roots.length === 0) throw notAllowed(named, this.outside('leads'));
    if (!roots.some(isStillThere))
      throw notAllowed(named, 'its root was replaced by another folder since the start', {
        replacedRoot: roots[0]!.real,
      });
    if (SYSTEM_FOLDERS.some((folder) => isInside(real, folder)))
      throw notAllowed(named, 'it belongs to the system');
    if (this.hides(real))
      throw notAllowed(named, 'Volley keeps its own files there and hides them from tools');
  }
}

function findRoot(path: string): Root | undefined {
  try {
    const real = realpathSync.native(path);
    return { real, stats: lstatSync(real, { bigint: true }) };
  } catch {
    return undefined;
  }
}

/** Synchronous: a path inside was resolved just now, so the system knows the answer. A promise costs far more. */
function isStillThere({ real, stats }: Root): boolean {
  try {
    const now = lstatSync(real, { bigint: true });
    return now.dev === stats.dev && now.ino === stats.ino;
  } catch {
    return false;
  }
}

export function notAllowed(path: string, problem: string, details: object = {}): VolleyError {
  return refusal('PATH_NOT_ALLOWED', `The path ${quoted(path)} is not allowed: ${problem}.`, {
    path,
    ...details,
  });
}

/** Names the rule that protects a path, and the setting that makes it writable. */
function protectedPath(
  path: string,
  { pattern, why, isOwn }: NonNullable<ReturnType<PathProtection['protects']>>,
): VolleyError {
  const remedy = isOwn
    ? 'No setting can change this'
    : 'To allow it, add the path to `tools.writable` in volley.toml';
  return refusal(
    'PATH_PROTECTED',
    `The path ${quoted(path)} is write-protected: ${why} (${pattern}). ${remedy}.`,
    { path, pattern, ...(!isOwn && { setting: 'tools.writable' }) },
  );
}

function problemOf(path: string): string | undefined {
  if (path.includes('\0')) return 'it contains a NUL character';
  if (path.length > MAX_PATH_LENGTH) return `it is longer than ${MAX_PATH_LENGTH} characters`;
  const names = path.split(/[\\/]/);
  if (names.some((name) => Buffer.byteLength(name) > MAX_NAME_BYTES)) {
    return `a name in it is longer than ${MAX_NAME_BYTES} bytes`;
  }
  return undefined;
}

/** Whether a path is a folder or lexically inside it. */
export function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

/** Resolves a path, keeping trailing names that do not exist. */
export function realAsFarAsItExists(path: string): string {
  try {
    return realpathSync.native(path);
  } catch (error) {
    const parent = dirname(path);
    if (parent === path || codeOf(error) !== 'ENOENT') return path;
    return join(realAsFarAsItExists(parent), basename(path));
  }
}
