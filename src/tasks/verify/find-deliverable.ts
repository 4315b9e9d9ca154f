import type { Dirent, Stats } from 'node:fs';
import { lstat, readdir, stat } from 'node:fs/promises';
import { join, posix } from 'node:path';
import picomatch from 'picomatch';
import { globProblem } from '../../core/glob.ts';

/** The files that match a deliverable. */
export interface Found {
  readonly files: number;
  /** The latest change of any of them, in milliseconds since 1970. */
  readonly changedAt: number;
}

const MAX_ENTRIES = 50_000;
const SKIPPED = ['node_modules', '.git'];

/** Searches a folder for a path or glob. Undefined if nothing matches. A folder includes everything in it. */
export async function findDeliverable(folder: string, pattern: string): Promise<Found | undefined> {
  const path = posix.normalize(pattern.replaceAll('\\', '/')).replace(/(?<=.)\/$/, '');
  // The plain path first, since names may contain glob characters.
  const stats = await stat(join(folder, path)).catch(() => undefined);
  const search = new Search(folder);
  if (stats?.isDirectory()) {
    search.note(stats);
    await search.enter(path, () => true, namesOf(path));
  } else if (stats !== undefined) search.note(stats);
  else if (globProblem(path) === undefined) {
    const { base, isGlob } = picomatch.scan(path);
    if (isGlob) await search.enter(base, picomatch(path, { dot: true }), namesOf(path));
  }
  return search.found();
}

function namesOf(path: string): ReadonlySet<string> {
  return new Set(path.split('/'));
}

class Search {
  private files = 0;
  private changedAt = 0;
  private visited = 0;

  constructor(private readonly folder: string) {}

  found(): Found | undefined {
    return this.files === 0 ? undefined : { files: this.files, changedAt: this.changedAt };
  }

  /** `ctime` counts, since moving a file into place does not change `mtime`. */
  note({ mtimeMs, ctimeMs }: Stats): void {
    this.files++;
    this.changedAt = Math.max(this.changedAt, mtimeMs, ctimeMs);
  }

  async enter(inside: string, matches: (path: string) => boolean, named: ReadonlySet<string>): Promise<void> {
    const entries = await readdir(join(this.folder, inside), { withFileTypes: true }).catch(
      (): Dirent[] => [],
    );
    for (const entry of entries) {
      if (++this.visited > MAX_ENTRIES) return;
      const path = inside === '' ? entry.name : posix.join(inside, entry.name);
      if (entry.isDirectory()) {
        const isSkipped = SKIPPED.includes(entry.name) && !named.has(entry.name);
        if (!isSkipped) await this.enter(path, matches, named);
      } else if (matches(path)) {
        const stats = await lstat(join(this.folder, path)).catch(() => undefined);
        if (stats !== undefined) this.note(stats);
      }
    }
  }
}
