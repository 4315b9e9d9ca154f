import { existsSync, realpathSync } from 'node:fs';
import { type FileHandle, lstat, open, readlink, realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import type { VolleyError } from '../../core/errors.ts';
import { codeOf, permanentFailure, quoted, refusal } from './refusal.ts';

const LONGEST_PATH = 4096;
const LONGEST_NAME_BYTES = 255;
/** Their files are doors to the system and to this process, not files, even where `/` is a root. */
const SYSTEM_FOLDERS = ['/proc', '/sys', '/dev'];
const DESCRIPTORS = '/proc/self/fd';

/** How an open file is asked where it really is: by its descriptor, or by looking at its path once more. */
export type Verification = 'descriptor' | 'path';

const BEST_VERIFICATION: Verification = existsSync(DESCRIPTORS) ? 'descriptor' : 'path';

/**
 * The folders in which the file tools may work. What counts is where a file really is, symbolic links followed, and
 * it is asked of the open file, so that a link that is swapped in between leads nowhere.
 */
export class Roots {
  private readonly paths: readonly string[];

  constructor(
    paths: readonly string[],
    readonly verification: Verification = BEST_VERIFICATION,
  ) {
    this.paths = paths.map((path) => resolve(path));
  }

  /** The absolute form of a caller's path, which by its words stands inside a root. */
  async place(path: string): Promise<string> {
    const problem = problemOf(path);
    if (problem !== undefined) throw notAllowed(path, problem);
    if (this.paths.length === 0) throw notAllowed(path, 'no root is configured');
    const absolute = resolve(this.paths[0]!, path);
    const roots = [...this.paths, ...(await this.realRoots())];
    if (!roots.some((root) => isInside(absolute, root))) throw notAllowed(path, 'it is outside the roots');
    return absolute;
  }

  /** Where the path really leads. Fails if it does not exist or leads outside. */
  async realPlace(path: string): Promise<string> {
    const real = await realpath(await this.place(path));
    await this.checkReal(real, path);
    return real;
  }

  /** Opens what the path leads to, and gives it only if that is inside a root. `path` may go through a descriptor. */
  async open(path: string, flags: number, named: string): Promise<FileHandle> {
    const handle = await open(path, flags).catch((error) => {
      throw codeOf(error) === 'ELOOP' ? notAllowed(named, 'it became a symbolic link meanwhile') : error;
    });
    try {
      await this.checkReal(await this.placeOf(handle, path, named), named);
      return handle;
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** A path to the open folder that stays true when the folder is moved or replaced. */
  pathOf(folder: FileHandle, path: string): string {
    return this.verification === 'descriptor' ? `${DESCRIPTORS}/${folder.fd}` : path;
  }

  /** One name for one file, however its path is written; used for locks, before anything is opened. */
  lockName(path: string): string {
    if (problemOf(path) !== undefined) return `file:${resolve('/', 'invalid')}`;
    return `file:${realAsFarAsItExists(resolve(this.paths[0] ?? '/', path))}`;
  }

  private async placeOf(handle: FileHandle, path: string, named: string): Promise<string> {
    if (this.verification === 'descriptor') return readlink(`${DESCRIPTORS}/${handle.fd}`);
    const real = await realpath(path);
    const [opened, found] = await Promise.all([handle.stat(), lstat(real)]);
    if (opened.dev !== found.dev || opened.ino !== found.ino) throw notAllowed(named, 'it changed meanwhile');
    return real;
  }

  private async checkReal(real: string, named: string): Promise<void> {
    const roots = await this.realRoots();
    if (roots.length === 0) throw permanentFailure('None of the configured roots exists.');
    if (!roots.some((root) => isInside(real, root))) throw notAllowed(named, 'it leads outside the roots');
    if (SYSTEM_FOLDERS.some((folder) => isInside(real, folder)))
      throw notAllowed(named, 'it belongs to the system');
  }

  private async realRoots(): Promise<string[]> {
    const real = await Promise.all(this.paths.map((root) => realpath(root).catch(() => undefined)));
    return real.filter((root) => root !== undefined);
  }
}

export function notAllowed(path: string, problem: string): VolleyError {
  return refusal('PATH_NOT_ALLOWED', `The path ${quoted(path)} may not be used: ${problem}.`, { path });
}

function problemOf(path: string): string | undefined {
  if (path.includes('\0')) return 'it holds a NUL character';
  if (path.length > LONGEST_PATH) return `it is longer than ${LONGEST_PATH} characters`;
  const names = path.split(/[\\/]/);
  if (names.some((name) => Buffer.byteLength(name) > LONGEST_NAME_BYTES)) {
    return `a name in it is longer than ${LONGEST_NAME_BYTES} bytes`;
  }
  return undefined;
}

function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

function realAsFarAsItExists(path: string): string {
  try {
    return realpathSync.native(path);
  } catch (error) {
    const parent = dirname(path);
    if (parent === path || codeOf(error) !== 'ENOENT') return path;
    return join(realAsFarAsItExists(parent), basename(path));
  }
}
