import type { Dirent, Stats } from 'node:fs';
import { lstat, readdir, stat } from 'node:fs/promises';
import { join, posix } from 'node:path';
import picomatch from 'picomatch';
import { globProblem } from '../../core/glob.ts';

/** What a deliverable leads to. */
export interface Found {
  readonly files: number;
  /** When one of them was changed last, in milliseconds since 1970. */
  readonly changedAt: number;
}

const MAX_ENTRIES = 50_000;
const PASSED_OVER = ['node_modules', '.git'];

/** Looks for a path or glob in a folder; undefined where nothing is there. A folder is as new as what is in it. */
export async function findDeliverable(folder: string, pattern: string): Promise<Found | undefined> {
  const path = posix.normalize(pattern.replaceAll('\\', '/')).replace(/(?<=.)\/$/, '');
  // A name may hold what a glob gives a meaning to.
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

  /** Moving a file into place changes its entry, not its content. */
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
        const isPassedOver = PASSED_OVER.includes(entry.name) && !named.has(entry.name);
        if (!isPassedOver) await this.enter(path, matches, named);
      } else if (matches(path)) {
        const stats = await lstat(join(this.folder, path)).catch(() => undefined);
        if (stats !== undefined) this.note(stats);
      }
    }
  }
}
