import { readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

/** Git's folders for a working tree. */
export interface GitFolders {
  /** The folder of the working tree. */
  readonly root: string;
  /** Files of this working tree alone: `HEAD`, the index. */
  readonly own: string;
  /** Files shared by all working trees of the repository: branches, hooks, the configuration. */
  readonly common: string;
}

/** Finds them without git, because an agent may have broken the repository. Undefined if there is none. */
export function gitFoldersOf(folder: string): GitFolders | undefined {
  for (let at = resolve(folder); ; at = dirname(at)) {
    const found = foldersAt(at);
    if (found !== undefined || dirname(at) === at) return found;
  }
}

function foldersAt(root: string): GitFolders | undefined {
  const path = join(root, '.git');
  try {
    const own = statSync(path).isDirectory() ? path : linkIn(path);
    return own === undefined ? undefined : { root, own, common: commonOf(own) };
  } catch {
    return undefined;
  }
}

/** Throws for anything but a file: an agent may have put a pipe there, which would block a reader. */
function textOf(path: string): string {
  if (!statSync(path).isFile()) throw new Error(`${path} is not a file`);
  return readFileSync(path, 'utf8');
}

/** A linked working tree has a file that says where. */
function linkIn(path: string): string | undefined {
  const target = /^gitdir: (.+)$/m.exec(textOf(path))?.[1];
  return target === undefined ? undefined : resolve(dirname(path), target.trim());
}

function commonOf(own: string): string {
  try {
    return resolve(own, textOf(join(own, 'commondir')).trim());
  } catch {
    return own;
  }
}
