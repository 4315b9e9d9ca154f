import { posix } from 'node:path';

/** A path of the repository as seen from the project within it. What of git's own counts keeps its name. */
export function fromProject(prefix: string, path: string): string {
  return prefix === '' || path.startsWith('.git/') ? path : posix.relative(`/${prefix}`, `/${path}`);
}
