import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

interface PlainLimits {
  readonly maxBytes: number;
  /** Whether a link may lead to the file. */
  readonly followLinks: boolean;
}

/** The text of a file of a modest size, and of nothing that a reader would wait for: no pipe, no device. */
export async function readRegularFile(path: string, { maxBytes, followLinks }: PlainLimits): Promise<string> {
  const flags = constants.O_RDONLY | constants.O_NONBLOCK | (followLinks ? 0 : constants.O_NOFOLLOW);
  const file = await open(path, flags);
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw new Error('it is not a file');
    if (stats.size > maxBytes) throw new Error(`it is larger than ${maxBytes / 1024} KB`);
    const buffer = Buffer.alloc(stats.size);
    let length = 0;
    while (length < buffer.length) {
      const { bytesRead } = await file.read(buffer, length, buffer.length - length, length);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    return buffer.toString('utf8', 0, length);
  } finally {
    await file.close();
  }
}
