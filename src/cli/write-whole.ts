import { randomBytes } from 'node:crypto';
import { rename, rm, writeFile } from 'node:fs/promises';

/** Writes a file as a whole or not at all. A link would be replaced: give what it leads to. */
export async function writeWhole(file: string, text: string, mode: number): Promise<void> {
  const draft = `${file}.${randomBytes(4).toString('hex')}`;
  try {
    await writeFile(draft, text, { flag: 'wx', mode });
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
