import { randomBytes } from 'node:crypto';
import { renameSync, rmSync, writeFileSync } from 'node:fs';

export interface AtomicWriteOptions<T> {
  readonly mode?: number;
  readonly encoding?: 'utf8' | 'latin1';
  /** Moves the draft into place. Default: replaces the target; a link is replaced, not followed. */
  readonly put?: (draft: string, path: string) => T;
}

/** Writes a file atomically: a reader sees the old content or the new, never a part. */
export function writeAtomically<T = void>(
  path: string,
  content: string,
  { mode = 0o666, encoding = 'utf8', put = renameSync as never }: AtomicWriteOptions<T> = {},
): T {
  const draft = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    writeFileSync(draft, content, { flag: 'wx', mode, encoding });
    return put(draft, path);
  } finally {
    rmSync(draft, { force: true });
  }
}
