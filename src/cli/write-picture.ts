import { realpath, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makeFolder } from '../store/make-folder.ts';
import { writeAtomically } from '../tools/atomic-write.ts';

/** Writes a picture as a whole or not at all, and the folders above it where they are missing. */
export async function writePicture(place: string, text: string): Promise<void> {
  makeFolder(dirname(place));
  const before = await stat(place).catch(() => undefined);
  if (before === undefined) writeAtomically(place, text);
  // A link stays a link.
  else if (before.isFile()) writeAtomically(await realpath(place), text, { mode: before.mode & 0o777 });
  // A device or a pipe cannot be replaced, and is not meant to be.
  else await writeFile(place, text);
}
