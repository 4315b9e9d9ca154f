import {
  closeSync,
  constants,
  fstatSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { writeAtomically } from './atomic-write.ts';

/** Replaces a file as a whole; nobody but its owner can read it, from the first moment on. */
export function writePrivateFile(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeAtomically(path, text, { mode: 0o600 });
}

/** The same where there is no such file yet; of several processes that try it at once, one has it. */
export function createPrivateFile(path: string, text: string): boolean {
  mkdirSync(dirname(path), { recursive: true });
  return writeAtomically(path, text, { mode: 0o600, put: putIfNone });
}

/**
 * Reads one of Volley's private files as JSON; undefined if it does not exist or cannot be read. A file that another
 * user owns, or may read or write, is ignored: it could lead commands and their tokens elsewhere. Git checks out no file
 * that only its owner may read.
 */
export function readPrivateJson(path: string): unknown {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return undefined;
  }
  try {
    const { uid, mode } = fstatSync(file);
    const isOurs = process.getuid === undefined || (uid === process.getuid() && (mode & 0o077) === 0);
    return isOurs ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
  } catch {
    return undefined;
  } finally {
    closeSync(file);
  }
}

function putIfNone(draft: string, path: string): boolean {
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    // A file system that knows no links, so nobody can be sure to be the first.
    renameSync(draft, path);
    return true;
  }
}
