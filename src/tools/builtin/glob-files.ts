import { Folder } from './folder.ts';
import { fileFailure } from './refusal.ts';
import type { Roots } from './roots.ts';
import { FolderWalk, MAX_DEPTH, pathMatcher } from './walk.ts';

/** Entered only if the glob names them. */
const PASSED_FOLDERS = ['.git', 'node_modules'];
const SPECIAL = /[*?[\]{}\\]/;

/**
 * The files inside the roots that match a glob, relative to the first root and sorted by path; at most `limit` of them.
 * Links are not followed, and protected files are left out. A glob without a slash matches names at any depth.
 */
export async function globFiles(
  roots: Roots,
  glob: string,
  limit: number,
  signal: AbortSignal,
): Promise<{ readonly files: string[]; readonly isCut: boolean }> {
  const start = startOf(glob);
  const prefix = start === '' ? '' : `${start}/`;
  const matches = pathMatcher(glob);
  const enters = (name: string) => !PASSED_FOLDERS.includes(name) || glob.includes(name);
  const walk = new FolderWalk(MAX_DEPTH, enters, signal);
  const files: string[] = [];
  try {
    const folder = await Folder.open(roots, start === '' ? '.' : start);
    try {
      for await (const { path, name, type } of walk.through(folder, prefix)) {
        if (type !== 'file' || !matches(path, name)) continue;
        if (files.length === limit) return { files, isCut: true };
        files.push(path);
      }
    } finally {
      await folder.close();
    }
  } catch (error) {
    throw fileFailure('list', start === '' ? '.' : start, error);
  }
  return { files: files.sort(), isCut: walk.isCut };
}

/** The folders at the start of a glob that are plain names. Only they need to be walked. */
function startOf(glob: string): string {
  const parts = glob.split('/');
  const first = parts.findIndex((part) => SPECIAL.test(part));
  return parts.slice(0, first < 0 ? -1 : first).join('/');
}
