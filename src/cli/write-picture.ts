import { randomBytes } from 'node:crypto';
import { realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makeFolder } from '../store/make-folder.ts';

/** Writes a file as a whole or not at all, and the folders above it where they are missing. */
export async function writePicture(place: string, text: string): Promise<void> {
  makeFolder(dirname(place));
  const before = await stat(place).catch(() => undefined);
  // A device or a pipe cannot be replaced, and is not meant to be.
  if (before !== undefined && !before.isFile()) return writeFile(place, text);
  // A link stays a link.
  const target = before === undefined ? place : await realpath(place);
  const draft = `${target}.${randomBytes(4).toString('hex')}`;
  try {
    await writeFile(draft, text, { flag: 'wx', ...(before !== undefined && { mode: before.mode & 0o777 }) });
    await rename(draft, target);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
