import { type Dirent, lstatSync, readdirSync, type Stats } from 'node:fs';
import { join } from 'node:path';

/** Undefined if nothing is there or it is inaccessible. */
export function lstatIfAny(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch {
    return undefined;
  }
}

/** Empty if the folder is gone or inaccessible. */
export function folderEntries(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

/** Relative paths of everything below a folder that is not a folder. Stops soon after `max`. */
export function filesBelow(folder: string, max: number): string[] {
  const found: string[] = [];
  const folders = [''];
  for (let next = folders.pop(); next !== undefined && found.length < max; next = folders.pop()) {
    for (const entry of folderEntries(join(folder, next)))
      (entry.isDirectory() ? folders : found).push(join(next, entry.name));
  }
  return found;
}
