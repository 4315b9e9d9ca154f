import {
  type Dirent,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { gitFoldersOf } from '../../config/git-folders.ts';
import { codeOf } from '../../tools/builtin/refusal.ts';
import { isInside, realAsFarAsItExists } from '../../tools/builtin/roots.ts';
import { Git, pathsOf } from './git.ts';

/** Anything but a folder, as it was found. */
interface Kept {
  readonly kind: 'file' | 'link' | 'other';
  /** The text of a file, the target of a link. */
  readonly content: string;
  readonly mode: number;
}

/** The `.git` of a working tree: a folder, or a file or link that leads to one. */
interface GitEntry {
  readonly path: string;
  readonly kept: Kept | undefined;
  /** Identifies the folder, if it is one. */
  readonly inode: string | undefined;
}

/** What was found changed. Everything was restored, except what the problems say. */
export interface GitTampering {
  /** Paths relative to the project; those of the repository begin with `.git`. */
  readonly paths: readonly string[];
  readonly problems: readonly string[];
}

const MAX_FILES = 20_000;
const MAX_BYTES = 64 * 1024 * 1024;
/** What git runs, and what tells it what to run, in the folder of a repository or of one of its submodules. */
const FILES = ['commondir', 'config', 'config.worktree', 'info/attributes'];
/** Folders of a repository that hold much, and nothing of that. */
const SKIPPED = ['objects', 'refs', 'logs', 'lfs'];
/** What stands in the folder of a worktree, and says where the configuration is. */
const COMMON = '../..\n';

/**
 * The hooks and the configuration of a repository as they were when a run began. Agents may commit, but what git runs
 * is not theirs: a change is restored. Links are never followed here, for an agent may have made them: a link is
 * removed like a file. Only what was a link at the beginning is watched at its target, too.
 */
export class GitGuard {
  private readonly root: string;
  private readonly common: string;
  /** Folders of hooks outside of the repository's own, without links. */
  private readonly hooks: readonly string[];
  private readonly entry: GitEntry;
  private readonly submodules: readonly GitEntry[];
  private readonly files: Map<string, Kept>;

  private constructor(
    private readonly project: string,
    folders: { readonly root: string; readonly common: string },
    /** As the configuration has it, absolute. */
    private readonly hooksPath: string | undefined,
    submodules: readonly string[],
  ) {
    this.root = realpathSync(folders.root);
    this.common = realpathSync(folders.common);
    const hooks = [join(this.common, 'hooks'), ...(hooksPath === undefined ? [] : [hooksPath])];
    this.hooks = hooks.map(realAsFarAsItExists).filter((path) => path !== hooks[0]);
    this.entry = entryAt(join(this.root, '.git'));
    this.submodules = submodules.map((path) => entryAt(join(path, '.git')));
    this.files = this.look(submodules);
  }

  /** Undefined where there is no repository. */
  static async of(project: string): Promise<GitGuard | undefined> {
    const folders = gitFoldersOf(project);
    if (folders === undefined) return undefined;
    const submodules = await submodulesOf(realpathSync(folders.root));
    return new GitGuard(project, folders, await hooksOf(project), submodules);
  }

  /** The folder of hooks as a path within the project, if it is there and not in `.git`. */
  get hooksInProject(): string | undefined {
    if (this.hooksPath === undefined || !isInside(this.hooksPath, this.project)) return undefined;
    return relative(this.project, this.hooksPath) || undefined;
  }

  /** Restores what was changed, as far as it can be: one path that cannot be restored stands in the way of no other. */
  async restore(): Promise<GitTampering> {
    const changed = new Set<string>();
    const problems: string[] = [];
    const attempt = (path: string, work: () => void) => {
      changed.add(path);
      try {
        work();
      } catch (error) {
        const why = codeOf(error) ?? (error as Error).message;
        problems.push(`${this.shown(path)} could not be restored (${why}): see to it before you use git`);
      }
    };
    const tampering = () => ({ paths: this.shownAll(changed), problems });
    this.restoreEntry(this.entry, attempt, problems);
    if (lstatOf(this.common)?.isDirectory() !== true) {
      changed.add(this.entry.path);
      problems.push(
        `the repository ${this.common} was removed or replaced and cannot be restored: get it from a backup or clone it again, and do not use git here before`,
      );
      return tampering();
    }
    const known = this.submodules.map(({ path }) => dirname(path));
    for (const entry of this.submodules) {
      if (this.isReal(dirname(entry.path)) && lstatOf(entry.path) !== undefined)
        this.restoreEntry(entry, attempt, problems);
    }
    this.restoreFiles(known, attempt);
    // Git may be asked now. It would run the settings of whatever has been made a submodule meanwhile.
    for (const path of await submodulesOf(this.root)) {
      const made = join(path, '.git');
      if (known.includes(path) || !this.isReal(path) || lstatOf(made) === undefined) continue;
      attempt(made, () =>
        problems.push(`${this.shown(made)} is new: it was moved to ${this.setAside(made)}`),
      );
    }
    return tampering();
  }

  private restoreFiles(
    submodules: readonly string[],
    attempt: (path: string, work: () => void) => void,
  ): void {
    const now = this.look(submodules);
    if (now.size >= MAX_FILES && this.files.size < MAX_FILES)
      attempt(join(this.common, 'hooks'), () => {
        throw new Error(`there are more than ${MAX_FILES} files`);
      });
    // A submodule that was removed runs nothing.
    const removed = submodules
      .map((path) => join(path, '.git'))
      .filter((path) => !this.isReal(dirname(path)) || lstatOf(path) === undefined);
    // What stands above comes first: folders are made anew before what was in them.
    for (const path of [...new Set([...this.files.keys(), ...now.keys()])].sort()) {
      const [before, after] = [this.files.get(path), now.get(path)];
      if (isSame(before, after) || removed.some((one) => isInside(path, one))) continue;
      if (path === join(this.common, 'config') && isSameButForHabits(before, after)) {
        this.files.set(path, after!);
        continue;
      }
      attempt(path, () => this.write(path, before ?? this.expectedAt(path)));
    }
  }

  /** Another `.git` would have git read other settings. What was put there is kept. */
  private restoreEntry(
    { path, kept, inode }: GitEntry,
    attempt: (path: string, work: () => void) => void,
    problems: string[],
  ): void {
    const now = lstatOf(path);
    const isAsItWas = inode === undefined ? isSame(kept, keptAt(path)) : now?.isDirectory() === true;
    if (isAsItWas) return;
    attempt(path, () => {
      if (now !== undefined)
        problems.push(
          `what the agent put in the place of ${this.shown(path)} was moved to ${this.setAside(path)}`,
        );
      if (inode === undefined) return this.write(path, kept);
      const moved = entriesOf(dirname(path))
        .map(({ name }) => join(dirname(path), name))
        .find((one) => inodeOf(lstatOf(one)) === inode);
      if (moved === undefined) throw new Error('it was removed');
      renameSync(moved, path);
    });
  }

  /** Moves something to a place where git does not look for it, and gives that place. */
  private setAside(path: string): string {
    const folder = join(this.project, '.volley');
    if (lstatOf(folder)?.isDirectory() !== true) {
      rmSync(folder, { force: true });
      mkdirSync(folder, { mode: 0o700 });
    }
    for (let number = 1; ; number++) {
      const target = join(folder, `rejected-git-${number}`);
      if (lstatOf(target) !== undefined) continue;
      renameSync(path, target);
      return `.volley/${basename(target)}`;
    }
  }

  private shown(path: string): string {
    if (path === this.entry.path) return '.git';
    return isInside(path, this.common)
      ? join('.git', relative(this.common, path))
      : relative(realpathSync(this.project), path);
  }

  /** A folder stands for what is in it. */
  private shownAll(changed: ReadonlySet<string>): string[] {
    const isCovered = (path: string) =>
      [...changed].some((other) => other !== path && path.startsWith(`${other}${sep}`));
    return [...changed]
      .filter((path) => !isCovered(path))
      .map((path) => this.shown(path))
      .sort();
  }

  private look(submodules: readonly string[]): Map<string, Kept> {
    const found = new Map<string, Kept>();
    const note = (path: string) => {
      const kept = this.firstOddOneAbove(path, found) ? undefined : keptAt(path);
      if (kept !== undefined && found.size < MAX_FILES) found.set(path, kept);
    };
    const noteAll = (folder: string) => {
      note(folder);
      if (this.isReal(folder)) for (const path of filesBelow(folder)) note(path);
    };
    const noteRepository = (folder: string) => {
      for (const file of FILES) note(join(folder, file));
      noteAll(join(folder, 'hooks'));
      noteRepositories(join(folder, 'modules'));
    };
    /** Names of submodules may have slashes. */
    const noteRepositories = (folder: string) => {
      note(folder);
      if (!this.isReal(folder)) return;
      const isRepository = lstatOf(join(folder, 'HEAD')) !== undefined;
      for (const entry of entriesOf(folder)) {
        const path = join(folder, entry.name);
        if (isRepository && [...SKIPPED, 'hooks', 'info', 'modules'].includes(entry.name)) continue;
        if (entry.isSymbolicLink()) note(path);
        if (!entry.isDirectory()) continue;
        noteRepository(path);
        noteRepositories(path);
      }
    };
    noteRepository(this.common);
    const worktrees = join(this.common, 'worktrees');
    note(worktrees);
    for (const entry of this.isReal(worktrees) ? entriesOf(worktrees) : []) {
      const folder = join(worktrees, entry.name);
      if (entry.isSymbolicLink()) note(folder);
      if (!entry.isDirectory()) continue;
      note(join(folder, 'config.worktree'));
      // Worktrees come and go; where they find the configuration is always the same.
      const common = join(folder, 'commondir');
      if (keptAt(common)?.content !== COMMON) note(common);
    }
    for (const folder of this.hooks) noteAll(folder);
    for (const folder of submodules)
      if (this.isReal(join(folder, '.git'))) noteRepository(join(folder, '.git'));
    return found;
  }

  /** The folders that lead to a path, from the one on that an agent cannot have replaced. */
  private foldersAbove(path: string): string[] {
    const bases = [this.common, this.root, ...this.hooks.map(dirname)];
    const base = bases.find((one) => isInside(path, one)) ?? dirname(path);
    const names = relative(base, dirname(path)).split(sep).filter(Boolean);
    return names.map((_, index) => join(base, ...names.slice(0, index + 1)));
  }

  /** Whether it is a folder that no link leads to. */
  private isReal(folder: string): boolean {
    return this.foldersAbove(join(folder, 'x')).every((one) => lstatOf(one)?.isDirectory() === true);
  }

  /** Notes what stands where a folder on the way to a path should be. */
  private firstOddOneAbove(path: string, found: Map<string, Kept>): boolean {
    for (const folder of this.foldersAbove(path)) {
      const kept = keptAt(folder);
      if (kept === undefined) continue;
      found.set(folder, kept);
      return true;
    }
    return false;
  }

  private expectedAt(path: string): Kept | undefined {
    const isOfWorktree = dirname(dirname(path)) === join(this.common, 'worktrees');
    if (!isOfWorktree || basename(path) !== 'commondir') return undefined;
    return { kind: 'file', content: COMMON, mode: 0o644 };
  }

  private write(path: string, kept: Kept | undefined): void {
    // Looked at again: whatever is not a folder here is the agent's.
    for (const folder of kept === undefined ? [] : this.foldersAbove(path)) {
      if (lstatOf(folder)?.isDirectory() === true) continue;
      rmSync(folder, { force: true });
      mkdirSync(folder);
    }
    if (kept === undefined) {
      if (this.isReal(dirname(path))) rmSync(path, { recursive: true, force: true });
      return;
    }
    if (lstatOf(path)?.isDirectory()) rmSync(path, { recursive: true, force: true });
    const draft = `${path}.volley-${process.pid}`;
    rmSync(draft, { recursive: true, force: true });
    if (kept.kind === 'link') symlinkSync(kept.content, draft);
    else if (kept.kind === 'file')
      writeFileSync(draft, kept.content, { encoding: 'latin1', mode: kept.mode, flag: 'wx' });
    else throw new Error('it was neither a file nor a link, or too large to keep');
    renameSync(draft, path);
  }
}

/** The folders of all submodules that git has in its index, and of theirs. */
async function submodulesOf(root: string): Promise<string[]> {
  const { exitCode, stdout } = await new Git(root).run(['ls-files', '--stage', '-z']);
  if (exitCode !== 0) return [];
  const links = pathsOf(stdout).filter((line) => line.startsWith('160000 '));
  const folders = links.map((line) => join(root, line.slice(line.indexOf('\t') + 1)));
  const found: string[] = [];
  for (const folder of new Set(folders)) {
    // Without one, git would answer for the repository around it.
    const isFilled = lstatOf(folder)?.isDirectory() && lstatOf(join(folder, '.git')) !== undefined;
    found.push(folder, ...(isFilled ? await submodulesOf(folder) : []));
  }
  return found;
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

function entryAt(path: string): GitEntry {
  const stats = lstatOf(path);
  return { path, kept: keptAt(path), inode: stats?.isDirectory() ? inodeOf(stats) : undefined };
}

function inodeOf(stats: Stats | undefined): string | undefined {
  return stats && `${stats.dev}:${stats.ino}`;
}

function lstatOf(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch {
    return undefined;
  }
}

/** Undefined where nothing or a folder is. */
function keptAt(path: string): Kept | undefined {
  const stats = lstatOf(path);
  if (stats === undefined || stats.isDirectory()) return undefined;
  const mode = stats.mode & 0o777;
  try {
    if (stats.isSymbolicLink()) return { kind: 'link', content: readlinkSync(path), mode: 0 };
    if (stats.isFile() && stats.size <= MAX_BYTES)
      return { kind: 'file', content: readFileSync(path, 'latin1'), mode };
  } catch {
    // It cannot be read, or has been replaced just now.
  }
  return { kind: 'other', content: '', mode };
}

function isSame(a: Kept | undefined, b: Kept | undefined): boolean {
  return a?.content === b?.content && a?.kind === b?.kind && a?.mode === b?.mode;
}

/** Which branch follows which, and who commits, is written by ordinary use. */
function isSameButForHabits(a: Kept | undefined, b: Kept | undefined): boolean {
  if (a === undefined || b === undefined || a.kind !== 'file' || b.kind !== 'file') return false;
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

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}
