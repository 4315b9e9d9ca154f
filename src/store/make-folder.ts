import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a folder and those above it, and says whether it was missing; `mode` is that of the folder itself. Node's own way tries for ever where the system
 * answers that there is no such folder to whoever wants to make it, as below `/proc`.
 */
export function makeFolder(folder: string, mode = 0o777): boolean {
  if (isFolder(folder)) return false;
  const above = dirname(folder);
  if (above !== folder) makeFolder(above);
  try {
    mkdirSync(folder, { mode });
    return true;
  } catch (error) {
    // Another process may have made it since.
    if (isFolder(folder)) return false;
    throw error;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
