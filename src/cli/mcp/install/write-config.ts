import { constants } from 'node:fs';
import { copyFile, mkdir, realpath, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { writeAtomically } from '../../../tools/atomic-write.ts';
import type { InstallPlan } from './plan-install.ts';

/** Writes the file as a whole or not at all, and keeps what was there beside it. The answer is the backup, if any. */
export async function writeConfig({ file, before, after }: InstallPlan): Promise<string | undefined> {
  await mkdir(dirname(file), { recursive: true });
  // A link stays a link.
  const target = before === undefined ? file : await realpath(file);
  const backup = before === undefined ? undefined : await keep(target);
  const mode = before === undefined ? 0o644 : (await stat(target)).mode & 0o777;
  writeAtomically(target, after, { mode });
  return backup;
}

/** An older backup is never replaced. */
async function keep(file: string): Promise<string> {
  for (let number = 1; ; number++) {
    const backup = number === 1 ? `${file}.before-volley` : `${file}.before-volley-${number}`;
    try {
      await copyFile(file, backup, constants.COPYFILE_EXCL);
      return backup;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}
