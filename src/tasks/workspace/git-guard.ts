import {
  type Dirent,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { gitFoldersOf } from '../../config/git-folders.ts';
import { isInside } from '../../tools/builtin/real-path.ts';
import { Git } from './git.ts';

/** A file or link as it was found. */
interface Kept {
  readonly content: string;
  readonly isLink: boolean;
  readonly mode: number;
}

const MAX_FILES = 20_000;
/** What git runs, and what tells it what to run, in the folder of a repository or of one of its submodules. */
const FILES = ['config', 'config.worktree', 'info/attributes'];
/** Folders of a repository that hold much, and nothing of that. */
const PASSED_OVER = ['objects', 'refs', 'logs', 'lfs'];
/** What stands in the folder of a worktree, and says where the configuration is. */
const COMMON = '../..\n';

/**
 * The hooks and the configuration of a repository as they were when a run began. Agents may commit, but what git runs
 * is not theirs: a change is put back.
 */
export class GitGuard {
  private readonly files: Map<string, Kept>;

  private constructor(
    private readonly common: string,
    /** Where hooks are besides, absolute. */
    private readonly hooks: string | undefined,
    private readonly project: string,
  ) {
    this.files = this.look();
  }

  /** Undefined where there is no repository. */
  static async of(project: string): Promise<GitGuard | undefined> {
    const folders = gitFoldersOf(project);
    return folders && new GitGuard(folders.common, await hooksOf(project), project);
  }

  /** The folder of hooks as a path within the project, if it is there and not in `.git`. */
  get hooksInProject(): string | undefined {
    if (this.hooks === undefined || !isInside(this.hooks, this.project)) return undefined;
    return relative(this.project, this.hooks) || undefined;
  }

  /** Puts back what was changed, and gives the paths of it. */
  putBack(): string[] {
    const now = this.look();
    const changed = [...new Set([...this.files.keys(), ...now.keys()])].filter((path) => {
      const [before, after] = [this.files.get(path), now.get(path)];
      if (isSame(before, after)) return false;
      const isHabit = path === join(this.common, 'config') && isSameButForHabits(before, after);
      if (isHabit) this.files.set(path, after!);
      return !isHabit;
    });
    for (const path of changed) restore(path, this.files.get(path) ?? expectedAt(path));
    return changed.map((path) => this.shown(path)).sort();
  }

  private shown(path: string): string {
    return isInside(path, this.common) ? `.git/${relative(this.common, path)}` : relative(this.project, path);
  }

  private look(): Map<string, Kept> {
    const found = new Map<string, Kept>();
    const note = (path: string) => {
      const kept = keptAt(path);
      if (kept !== undefined && found.size < MAX_FILES) found.set(path, kept);
    };
    const noteRepository = (folder: string) => {
      for (const file of FILES) note(join(folder, file));
      for (const path of filesBelow(join(folder, 'hooks'))) note(path);
    };
    noteRepository(this.common);
    for (const folder of repositoriesBelow(join(this.common, 'modules'))) noteRepository(folder);
    for (const { name } of entriesOf(join(this.common, 'worktrees'))) {
      const folder = join(this.common, 'worktrees', name);
      note(join(folder, 'config.worktree'));
      // Worktrees come and go; where they find the configuration is always the same.
      const common = join(folder, 'commondir');
      if (keptAt(common)?.content !== COMMON) note(common);
    }
    if (this.hooks !== undefined) for (const path of filesBelow(this.hooks)) note(path);
    return found;
  }
}

/** Where the configuration has hooks looked for instead; not by the word of Volley itself. */
async function hooksOf(project: string): Promise<string | undefined> {
  const git = new Git(project);
  const { stdout } = await git.run(['config', '--show-scope', '-z', '--get-all', 'core.hooksPath']);
  const parts = stdout.split('\0');
  const values = parts.filter((_, index) => index % 2 === 1 && parts[index - 1] !== 'command');
  const path = values.at(-1);
  if (!path) return undefined;
  const root = (await git.run(['rev-parse', '--show-toplevel'])).stdout.replace(/\n$/, '');
  return resolve(root || project, path);
}

function expectedAt(path: string): Kept | undefined {
  const isCommon = path.endsWith('/commondir');
  return isCommon ? { content: COMMON, isLink: false, mode: 0o644 } : undefined;
}

function keptAt(path: string): Kept | undefined {
  try {
    const stats = lstatSync(path);
    if (stats.isSymbolicLink()) return { content: readlinkSync(path), isLink: true, mode: 0 };
    const content = stats.isFile() ? readFileSync(path, 'latin1') : '';
    return { content, isLink: false, mode: stats.mode & 0o777 };
  } catch {
    return undefined;
  }
}

function restore(path: string, kept: Kept | undefined): void {
  if (kept === undefined || lstatSync(path, { throwIfNoEntry: false })?.isDirectory())
    rmSync(path, { recursive: true, force: true });
  if (kept === undefined) return;
  mkdirSync(dirname(path), { recursive: true });
  const draft = `${path}.volley-${process.pid}`;
  rmSync(draft, { recursive: true, force: true });
  if (kept.isLink) symlinkSync(kept.content, draft);
  else writeFileSync(draft, kept.content, { encoding: 'latin1', mode: kept.mode, flag: 'wx' });
  renameSync(draft, path);
}

function isSame(a: Kept | undefined, b: Kept | undefined): boolean {
  return a?.content === b?.content && a?.isLink === b?.isLink && a?.mode === b?.mode;
}

/** Which branch follows which, and who commits, is written by ordinary use. */
function isSameButForHabits(a: Kept | undefined, b: Kept | undefined): boolean {
  if (a === undefined || b === undefined || a.isLink || b.isLink) return false;
  return withoutHabits(a.content) === withoutHabits(b.content);
}

function withoutHabits(config: string): string {
  let isHabit = false;
  const kept = config.split('\n').filter((line) => {
    // A line may hold more than one section, and a backslash at its end takes in the next.
    if (/[[\\]/.test(line)) isHabit = /^\s*\[(?:user|branch "[^"\\[\]]*")\]\s*$/i.test(line);
    return !isHabit && line.trim() !== '';
  });
  return kept.join('\n');
}

function filesBelow(folder: string): string[] {
  const found: string[] = [];
  const folders = [folder];
  for (let next = folders.pop(); next !== undefined && found.length < MAX_FILES; next = folders.pop()) {
    for (const entry of entriesOf(next)) {
      (entry.isDirectory() ? folders : found).push(join(next, entry.name));
    }
  }
  return found;
}

function repositoriesBelow(folder: string): string[] {
  return entriesOf(folder)
    .filter((entry) => entry.isDirectory() && !PASSED_OVER.includes(entry.name))
    .flatMap(({ name }) => [join(folder, name), ...repositoriesBelow(join(folder, name))]);
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}
