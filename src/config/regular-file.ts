import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { replaceFile } from '../tools/builtin/replace-file.ts';
import { Roots } from '../tools/builtin/roots.ts';

interface ReadLimits {
  readonly maxBytes: number;
  readonly followLinks: boolean;
}

/** Reads a text file; see {@link readRegularBytes}. */
export async function readRegularFile(path: string, limits: ReadLimits): Promise<string> {
  return (await readRegularBytes(path, limits)).toString('utf8');
}

/** Reads a regular file of limited size. Pipes and devices, which could block the reader, are refused. */
export async function readRegularBytes(path: string, { maxBytes, followLinks }: ReadLimits): Promise<Buffer> {
  const flags = constants.O_RDONLY | constants.O_NONBLOCK | (followLinks ? 0 : constants.O_NOFOLLOW);
  const file = await open(path, flags);
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw new Error('not a regular file');
    if (stats.size > maxBytes) throw new Error(`larger than ${maxBytes / 1024} KB`);
    const buffer = Buffer.alloc(stats.size);
    let length = 0;
    while (length < buffer.length) {
      const { bytesRead } = await file.read(buffer, length, buffer.length - length, length);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    return buffer.subarray(0, length);
  } finally {
    await file.close();
  }
}

/** Replaces a file below a folder atomically. */
export async function replaceFileIn(
  folder: string,
  path: string,
  text: string,
  createDirectories: boolean,
): Promise<void> {
  const options = { createDirectories, signal: new AbortController().signal };
  await replaceFile(new Roots([folder]), path, options, (handle) => handle.writeFile(text));
}
