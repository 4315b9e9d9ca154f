import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Creates a folder and its parents, and returns whether it was missing; `mode` applies to the folder itself. Node's
 * recursive mkdir loops forever where the system reports ENOENT for a folder being created, e.g. below `/proc`.
 */
export function makeFolder(folder: string, mode = 0o777): boolean {
  if (isFolder(folder)) return false;
  const above = dirname(folder);
  if (above !== folder) makeFolder(above);
  try {
    mkdirSync(folder, { mode });
    return true;
  } catch (error) {
    // Another process may have created it meanwhile.
    if (isFolder(folder)) return false;
    throw error;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
