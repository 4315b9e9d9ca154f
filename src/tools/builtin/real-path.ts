import { realpathSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, sep } from 'node:path';
import { codeOf } from './refusal.ts';

/** Whether a path is a folder or stands below it, by its words. */
export function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

/** Where a path leads, with those of its last names that do not exist as they are. */
export function realAsFarAsItExists(path: string): string {
  try {
    return realpathSync.native(path);
  } catch (error) {
    const parent = dirname(path);
    if (parent === path || codeOf(error) !== 'ENOENT') return path;
    return join(realAsFarAsItExists(parent), basename(path));
  }
}
