import { constants, type Dirent } from 'node:fs';
import { type FileHandle, mkdir, opendir, realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { codeOf, permanentFailure, quoted } from './refusal.ts';
import { openRegular, type RegularFile } from './regular-file.ts';
import type { Roots } from './roots.ts';

export const ENTRY_TYPES = ['file', 'directory', 'symlink', 'other'] as const;

export type EntryType = (typeof ENTRY_TYPES)[number];

export interface FolderEntry {
  readonly name: string;
  readonly type: EntryType;
}

/** The most names read from one folder: sorting needs all of them in memory. */
const MAX_NAMES = 100_000;

/**
 * An open folder inside the roots. Its files are accessed through its descriptor if the system supports it, so they
 * belong to this folder even if another one has taken its path.
 */
export class Folder {
  private constructor(
    private readonly roots: Roots,
    private readonly handle: FileHandle,
    private readonly realPath: string,
    /** The caller's path. */
    private readonly named: string,
  ) {}

  /** The folder at a caller's path. */
  static async open(roots: Roots, path: string): Promise<Folder> {
    return Folder.openReal(roots, await roots.realPlace(path), path);
  }

  /** The same for an absolute path, creating missing folders. */
  static async make(roots: Roots, absolute: string, named: string): Promise<Folder> {
    try {
      return await Folder.openReal(roots, await realpath(absolute), named);
    } catch (error) {
      if (codeOf(error) !== 'ENOENT' || dirname(absolute) === absolute) throw error;
    }
    const parent = await Folder.make(roots, dirname(absolute), named);
    try {
      const name = basename(absolute);
      await mkdir(parent.pathTo(name)).catch((error) => {
        if (codeOf(error) !== 'EEXIST') throw error;
      });
      return await parent.openFolder(name);
    } finally {
      await parent.close();
    }
  }

  static async openReal(roots: Roots, realPath: string, named: string): Promise<Folder> {
    const flags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
    try {
      return new Folder(roots, await roots.open(realPath, flags, named), realPath, named);
    } catch (error) {
      if (codeOf(error) !== 'ENOTDIR') throw error;
      throw permanentFailure(`${quoted(named)} is not a folder.`, error);
    }
  }

  /** The real path of an entry, even if the folder was moved since it was opened. */
  async placeOf(name: string): Promise<string> {
    return join(await this.roots.placeOf(this.handle, this.realPath, this.named), name);
  }

  /** Whether an entry is hidden from tools. */
  hides(name: string): boolean {
    return this.roots.hides(join(this.realPath, name));
  }

  /** A system path to an entry. */
  pathTo(name: string): string {
    return join(this.roots.pathOf(this.handle, this.realPath), name);
  }

  async openFolder(name: string): Promise<Folder> {
    const flags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
    const named = join(this.named, name);
    const handle = await this.roots.open(this.pathTo(name), flags, named);
    return new Folder(this.roots, handle, join(this.realPath, name), named);
  }

  openFile(name: string): Promise<RegularFile> {
    return openRegular(this.roots, this.pathTo(name), join(this.named, name));
  }

  /** Creates a file that must not exist yet, private to its owner. */
  createFile(name: string): Promise<FileHandle> {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
    return this.roots.open(this.pathTo(name), flags, this.named);
  }

  /** Its entries, sorted by name; `isCut` means that there are more. */
  async entries(signal: AbortSignal): Promise<{ entries: FolderEntry[]; isCut: boolean }> {
    const entries: FolderEntry[] = [];
    let isCut = false;
    for await (const entry of await opendir(this.pathTo('.'), { bufferSize: 256 })) {
      signal.throwIfAborted();
      if (entries.length === MAX_NAMES) {
        isCut = true;
        break;
      }
      entries.push({ name: entry.name, type: typeOf(entry) });
    }
    entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    return { entries, isCut };
  }

  close(): Promise<void> {
    return this.handle.close();
  }
}

function typeOf(entry: Dirent): EntryType {
  if (entry.isFile()) return 'file';
  if (entry.isDirectory()) return 'directory';
  return entry.isSymbolicLink() ? 'symlink' : 'other';
}
