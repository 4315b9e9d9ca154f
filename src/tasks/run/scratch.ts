import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { readRegularFile } from '../../config/regular-file.ts';

/** A file in the feature's folder with the name of its run's temporary folder. */
const NOTE = '.scratch';
const NAME = /^volley-run-\w{6}$/;

/** A temporary folder for one run. */
interface Scratch {
  readonly folder: string;
  close(): Promise<void>;
}

/** Creates the folder, and removes that of an earlier run that was killed. Not safe to call concurrently. */
export async function openScratch(featureFolder: string): Promise<Scratch> {
  const note = join(featureFolder, NOTE);
  const left = await readRegularFile(note, { maxBytes: 1024, followLinks: false }).catch(() => '');
  // Never removes anything else, whatever the note says.
  if (NAME.test(left)) await rm(join(tmpdir(), left), { recursive: true, force: true });
  const folder = await mkdtemp(join(tmpdir(), 'volley-run-'));
  const close = async () => {
    await rm(folder, { recursive: true, force: true });
    await rm(note, { force: true });
  };
  try {
    // Removed first: opening a pipe would block, and a link would be followed.
    await rm(note, { force: true });
    await writeFile(note, basename(folder), { flag: 'wx' });
  } catch (error) {
    await close();
    throw error;
  }
  return { folder, close };
}
