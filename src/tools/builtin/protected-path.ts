import { relative } from 'node:path';
import picomatch from 'picomatch';
import type { ProtectedPath } from './environment.ts';
import { isInside, realAsFarAsItExists } from './real-path.ts';

/** Whether a real path is one that no tool may write to. */
export function isProtected(real: string, paths: readonly ProtectedPath[]): boolean {
  return paths.some(({ path, glob }) => {
    // Asked each time: it may have come to exist only now, or be a link.
    const folder = realAsFarAsItExists(path);
    if (!isInside(real, folder)) return false;
    return glob === undefined || picomatch(glob)(relative(folder, real));
  });
}
