import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { readRegularFile } from '../files/regular-file.ts';

/** In the folder of a feature: the name of what its run has in the folder for such things. */
const NOTE = '.scratch';
const NAME = /^volley-run-\w{6}$/;

/** A folder for what lives no longer than a run. */
export interface Scratch {
  readonly folder: string;
  close(): Promise<void>;
}

/** Makes one, and removes that of an earlier run of the same feature which was killed. For one at a time. */
export async function openScratch(featureFolder: string): Promise<Scratch> {
  const note = join(featureFolder, NOTE);
  const left = await readRegularFile(note, { maxBytes: 1024, followLinks: false }).catch(() => '');
  // Whatever stands there, nothing else is removed.
  if (NAME.test(left)) await rm(join(tmpdir(), left), { recursive: true, force: true });
  const folder = await mkdtemp(join(tmpdir(), 'volley-run-'));
  const close = async () => {
    await rm(folder, { recursive: true, force: true });
    await rm(note, { force: true });
  };
  try {
    // A pipe would be waited for, and a link followed.
    await rm(note, { force: true });
    await writeFile(note, basename(folder), { flag: 'wx' });
  } catch (error) {
    await close();
    throw error;
  }
  return { folder, close };
}
