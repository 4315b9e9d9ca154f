import { randomBytes } from 'node:crypto';
import type { Stats } from 'node:fs';
import { type FileHandle, lstat, realpath, rename, unlink } from 'node:fs/promises';
import { basename, dirname, sep } from 'node:path';
import { Folder } from './folder.ts';
import { codeOf } from './refusal.ts';
import { requireRegular } from './regular-file.ts';
import { notAllowed, type Roots, realAsFarAsItExists } from './roots.ts';

/** The umask. Read once, because reading it clears it for a moment. */
const UMASK = process.umask();

export interface ReplaceOptions {
  /** Whether to create missing folders. */
  readonly createDirectories: boolean;
  /** Whether a new file can be run as a program. Default false. */
  readonly isProgram?: boolean;
  readonly signal: AbortSignal;
}

/**
 * Replaces a file inside the roots atomically with what `write` puts into a new one: a reader sees the old content or
 * the new, never a part.
 */
export async function replaceFile(
  roots: Roots,
  path: string,
  { createDirectories, isProgram = false, signal }: ReplaceOptions,
  write: (handle: FileHandle) => Promise<void>,
): Promise<{ readonly created: boolean }> {
  const target = await targetOf(roots, path);
  if (target.split(sep).some(isTemporaryName))
    throw notAllowed(path, 'such names are reserved for files being written');
  // Before any folder is created, and again for the folder that was really opened.
  roots.checkWritable(realAsFarAsItExists(target), path);
  signal.throwIfAborted();
  const folder = createDirectories
    ? await Folder.make(roots, dirname(target), path)
    : await Folder.openReal(roots, await realpath(dirname(target)), path);
  try {
    const name = basename(target);
    roots.checkWritable(await folder.placeOf(name), path);
    const existing = await lstatIfAny(folder.pathTo(name));
    if (existing !== undefined) requireRegular(existing, path);
    const mode = existing === undefined ? (isProgram ? 0o777 : 0o666) & ~UMASK : existing.mode & 0o777;
    await replace(folder, name, { existing, mode }, signal, write);
    return { created: existing === undefined };
  } finally {
    await folder.close();
  }
}

/** The file itself, so that a symbolic link stays and its target gets the content. */
async function targetOf(roots: Roots, path: string): Promise<string> {
  try {
    return await roots.realPlace(path);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
  const absolute = roots.place(path);
  if ((await lstatIfAny(absolute))?.isSymbolicLink()) throw notAllowed(path, 'it is a broken symbolic link');
  return absolute;
}

async function replace(
  folder: Folder,
  name: string,
  { existing, mode }: { readonly existing: Stats | undefined; readonly mode: number },
  signal: AbortSignal,
  write: (handle: FileHandle) => Promise<void>,
): Promise<void> {
  const temporary = temporaryName();
  let isInPlace = false;
  try {
    const handle = await folder.createFile(temporary);
    try {
      await write(handle);
      // Without permission to change the owner, the current user keeps the file.
      if (existing !== undefined) await handle.chown(existing.uid, existing.gid).catch(() => {});
      // Only now may others read it. New content does not inherit setuid or setgid.
      await handle.chmod(mode);
      await handle.sync();
    } finally {
      await handle.close();
    }
    signal.throwIfAborted();
    await rename(folder.pathTo(temporary), folder.pathTo(name));
    isInPlace = true;
  } finally {
    if (!isInPlace) await unlink(folder.pathTo(temporary)).catch(() => {});
  }
}

async function lstatIfAny(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return undefined;
    throw error;
  }
}

function temporaryName(): string {
  return `.volley-${randomBytes(8).toString('hex')}.tmp`;
}

/** Whether a file is a draft in progress, which other tools do not show. */
export function isTemporaryName(name: string): boolean {
  return /^\.volley-[\da-f]{16}\.tmp$/.test(name);
}
