import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat } from 'node:fs/promises';
import { permanentFailure, quoted } from './refusal.ts';
import { notAllowed, type Roots } from './roots.ts';

export interface RegularFile {
  readonly handle: FileHandle;
  readonly stats: Stats;
}

/** Opens the file at a caller's path for reading. The caller closes it. */
export async function openFile(roots: Roots, path: string): Promise<RegularFile> {
  return openRegular(roots, await roots.realPlace(path), path);
}

/** The same for a path whose last name is not a symbolic link. */
export async function openRegular(roots: Roots, path: string, named: string): Promise<RegularFile> {
  // Opening some devices has side effects, so the type is checked before and after opening.
  requireRegular(await lstat(path), named);
  // A FIFO that took its place meanwhile must not block us until there is a writer.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const handle = await roots.open(path, flags, named);
  try {
    const stats = await handle.stat();
    requireRegular(stats, named);
    return { handle, stats };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

export function requireRegular(stats: Stats, named: string): void {
  if (stats.isFile()) return;
  if (stats.isDirectory()) throw permanentFailure(`${quoted(named)} is a folder, not a file.`);
  if (stats.isSymbolicLink()) throw notAllowed(named, 'it became a symbolic link meanwhile');
  throw notAllowed(named, 'it is a device, a pipe or a socket, not a regular file');
}
