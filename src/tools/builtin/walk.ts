import { VolleyError } from '../../core/errors.ts';
import { linearGlob } from '../pattern/glob.ts';
import type { EntryType, Folder } from './folder.ts';
import { codeOf } from './refusal.ts';
import { isTemporaryName } from './replace-file.ts';

/** A glob with a slash matches the whole path, one without matches the name at any depth. */
export function pathMatcher(glob: string): (path: string, name: string) => boolean {
  const matcher = linearGlob(glob);
  return glob.includes('/') ? (path) => matcher.test(path) : (_, name) => matcher.test(name);
}

/** One entry found by a walk. */
export interface WalkEntry {
  /** Relative to the start folder, with `/` as the separator. */
  readonly path: string;
  readonly name: string;
  readonly type: EntryType;
  /** The folder that contains it; open until the walk continues. */
  readonly folder: Folder;
}

/** The maximum depth of a walk: each level keeps a folder open. */
export const MAX_DEPTH = 32;
/** The most entries a walk inspects. */
const MAX_VISITED = 200_000;
/** Errors of a folder that is not accessible, or gone since its name was read. */
const PASSED_OVER = new Set(['EACCES', 'EPERM', 'ENOENT', 'ENOTDIR', 'ELOOP']);

/**
 * Walks a folder and its subfolders in name order, a folder before its content. Symbolic links are reported but not
 * followed, so the walk stays inside.
 */
export class FolderWalk {
  /** Whether a limit stopped it before it saw everything. */
  isCut = false;
  /** Folders that could not be opened. */
  unreadable = 0;
  private visited = 0;

  constructor(
    private readonly depth: number,
    private readonly enters: (name: string) => boolean,
    private readonly signal: AbortSignal,
  ) {}

  async *through(folder: Folder, prefix = '', level = 1): AsyncGenerator<WalkEntry> {
    const { entries, isCut } = await folder.entries(this.signal);
    if (isCut) this.isCut = true;
    for (const { name, type } of entries) {
      if ((type === 'file' && isTemporaryName(name)) || folder.hides(name)) continue;
      this.signal.throwIfAborted();
      if (++this.visited > MAX_VISITED) {
        this.isCut = true;
        return;
      }
      const path = prefix + name;
      yield { path, name, type, folder };
      if (type === 'directory' && this.enters(name)) yield* this.below(folder, name, path, level);
    }
  }

  private async *below(parent: Folder, name: string, path: string, level: number): AsyncGenerator<WalkEntry> {
    if (level >= this.depth) {
      if (level >= MAX_DEPTH) this.isCut = true;
      return;
    }
    const folder = await parent.openFolder(name).catch((error: unknown) => {
      if (!isPassedOver(error)) throw error;
      this.unreadable++;
      return undefined;
    });
    if (folder === undefined) return;
    try {
      yield* this.through(folder, `${path}/`, level + 1);
    } finally {
      await folder.close();
    }
  }
}

/** Whether a problem concerns only one entry, so that the walk can continue. */
export function isPassedOver(error: unknown): boolean {
  return error instanceof VolleyError || PASSED_OVER.has(codeOf(error) ?? '');
}
