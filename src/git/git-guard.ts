import {
  mkdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  symlinkSync,
} from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { writeAtomically } from '../config/atomic-write.ts';
import { gitFoldersOf } from '../config/git-folders.ts';
import { listText } from '../core/words.ts';
import { codeOf } from '../tools/builtin/refusal.ts';
import { isInside, realAsFarAsItExists } from '../tools/builtin/roots.ts';
import { filesBelow, folderEntries, lstatIfAny } from './folder-entries.ts';
import { Git, submodulePaths } from './git.ts';

/** A file system entry that is not a folder. */
interface Kept {
  readonly kind: 'file' | 'link' | 'other';
  /** The text of a file, or the target of a link. */
  readonly content: string;
  readonly mode: number;
}

/** The `.git` of a working tree: a folder, or a file or link to one. */
interface GitEntry {
  readonly path: string;
  readonly kept: Kept | undefined;
  /** Identifies the folder, if it is one. */
  readonly inode: string | undefined;
}

/** What was changed. It was restored, except as the problems say. */
export interface GitTampering {
  /** Paths relative to the project; those of the repository begin with `.git`. */
  readonly paths: readonly string[];
  readonly problems: readonly string[];
  /** When the last of them was changed, if known. */
  readonly changedAt: number | undefined;
}

/** Says what was changed, and whether it was restored. */
export function tamperText({ paths, problems }: Pick<GitTampering, 'paths' | 'problems'>): string {
  const named = listText(paths.slice(0, MAX_NAMED), paths.length);
  const except = problems.length === 0 ? '' : `, except: ${problems.slice(0, MAX_NAMED).join('; ')}`;
  return `${named}. They were restored${except}.`;
}

const MAX_NAMED = 5;
const MAX_FILES = 20_000;
const MAX_BYTES = 64 * 1024 * 1024;
/** Files of a repository that make git run programs. */
const FILES = ['commondir', 'config', 'config.worktree', 'info/attributes'];
/** Large folders of a repository without such files. */
const SKIPPED = ['objects', 'refs', 'logs', 'lfs'];
/** The `commondir` of every worktree. */
const COMMON = '../..\n';

/**
 * Restores the hooks and configuration of a repository to their state when a run began. Agents may commit, but must not
 * decide what git runs. Links are never followed, since an agent may have made them: a link is removed like a file. Only
 * links that existed at the beginning are also watched at their target.
 */
export class GitGuard {
  private readonly root: string;
  private readonly common: string;
  /** Real paths of hook folders outside the repository's own. */
  private readonly hooks: readonly string[];
  private readonly entry: GitEntry;
  private readonly submodules: readonly GitEntry[];
  private readonly files: Map<string, Kept>;

  private constructor(
    private readonly project: string,
    folders: { readonly root: string; readonly common: string },
    /** `core.hooksPath`, absolute. */
    private readonly hooksPath: string | undefined,
    submodules: readonly string[],
  ) {
    this.root = realpathSync(folders.root);
    this.common = realpathSync(folders.common);
    const hooks = [join(this.common, 'hooks'), ...(hooksPath === undefined ? [] : [hooksPath])];
    this.hooks = hooks.map(realAsFarAsItExists).filter((path) => path !== hooks[0]);
    this.entry = entryAt(join(this.root, '.git'));
    this.submodules = submodules.map((path) => entryAt(join(path, '.git')));
    this.files = this.scan(submodules);
  }

  /** Undefined if there is no repository. */
  static async of(project: string): Promise<GitGuard | undefined> {
    const folders = gitFoldersOf(project);
    if (folders === undefined) return undefined;
    const submodules = await submodulesOf(realpathSync(folders.root));
    return new GitGuard(project, folders, await hooksOf(project), submodules);
  }

  /** `core.hooksPath` relative to the project, if it is inside the project. */
  get hooksInProject(): string | undefined {
    if (this.hooksPath === undefined || !isInside(this.hooksPath, this.project)) return undefined;
    return relative(this.project, this.hooksPath) || undefined;
  }

  /** Restores what was changed. A path that cannot be restored does not prevent the others. */
  async restore(): Promise<GitTampering> {
    const changed = new Set<string>();
    const problems: string[] = [];
    let changedAt: number | undefined = 0;
    const attempt = (path: string, work: () => void) => {
      changed.add(path);
      const at = lstatIfAny(path)?.ctimeMs;
      changedAt = at === undefined || changedAt === undefined ? undefined : Math.max(changedAt, at);
      try {
        work();
      } catch (error) {
        const why = codeOf(error) ?? (error as Error).message;
        problems.push(`${this.shown(path)} could not be restored (${why}); fix it before you use git`);
      }
    };
    const tampering = () => ({ paths: this.shownAll(changed), problems, changedAt });
    this.restoreEntry(this.entry, attempt, problems);
    if (lstatIfAny(this.common)?.isDirectory() !== true) {
      changed.add(this.entry.path);
      problems.push(
        `the repository ${this.common} was removed or replaced and cannot be restored; restore it from a backup or clone it before you use git here`,
      );
      return tampering();
    }
    const known = this.submodules.map(({ path }) => dirname(path));
    for (const entry of this.submodules) {
      if (this.isReal(dirname(entry.path)) && lstatIfAny(entry.path) !== undefined)
        this.restoreEntry(entry, attempt, problems);
    }
    this.restoreFiles(known, attempt);
    // Safe to run git now, except in new submodules, whose settings it would obey.
    for (const path of await submodulesOf(this.root)) {
      const made = join(path, '.git');
      if (known.includes(path) || !this.isReal(path) || lstatIfAny(made) === undefined) continue;
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
    const now = this.scan(submodules);
    if (now.size >= MAX_FILES && this.files.size < MAX_FILES)
      attempt(join(this.common, 'hooks'), () => {
        throw new Error(`there are more than ${MAX_FILES} files`);
      });
    // A removed submodule runs nothing.
    const removed = submodules
      .map((path) => join(path, '.git'))
      .filter((path) => !this.isReal(dirname(path)) || lstatIfAny(path) === undefined);
    // Sorted, so that folders are recreated before their contents.
    for (const path of [...new Set([...this.files.keys(), ...now.keys()])].sort()) {
      const [before, after] = [this.files.get(path), now.get(path)];
      if (isSame(before, after) || removed.some((one) => isInside(path, one))) continue;
      if (path === join(this.common, 'config') && isSameExceptHabits(before, after)) {
        this.files.set(path, after!);
        continue;
      }
      attempt(path, () => this.write(path, before ?? this.expectedAt(path)));
    }
  }

  /** A replaced `.git` would make git read other settings. The replacement is kept elsewhere. */
  private restoreEntry(
    { path, kept, inode }: GitEntry,
    attempt: (path: string, work: () => void) => void,
    problems: string[],
  ): void {
    const now = lstatIfAny(path);
    const isAsItWas = inode === undefined ? isSame(kept, keptAt(path)) : now?.isDirectory() === true;
    if (isAsItWas) return;
    attempt(path, () => {
      // Before anything is created here that could reuse the inode of a removed folder.
      const moved = folderEntries(dirname(path))
        .map(({ name }) => join(dirname(path), name))
        .find((one) => inodeOf(lstatIfAny(one)) === inode && lstatIfAny(join(one, 'HEAD')) !== undefined);
      if (now !== undefined)
        problems.push(`the replacement of ${this.shown(path)} was moved to ${this.setAside(path)}`);
      if (inode === undefined) return this.write(path, kept);
      if (moved === undefined) throw new Error('it was removed');
      renameSync(moved, path);
    });
  }

  /** Moves a path to where git does not look. Returns the new path. */
  private setAside(path: string): string {
    const folder = join(this.project, '.volley');
    if (lstatIfAny(folder)?.isDirectory() !== true) {
      rmSync(folder, { force: true });
      mkdirSync(folder, { mode: 0o700 });
    }
    for (let number = 1; ; number++) {
      const target = join(folder, `rejected-git-${number}`);
      if (lstatIfAny(target) !== undefined) continue;
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

  /** A folder stands for its contents. */
  private shownAll(changed: ReadonlySet<string>): string[] {
    const isCovered = (path: string) =>
      [...changed].some((other) => other !== path && path.startsWith(`${other}${sep}`));
    return [...changed]
      .filter((path) => !isCovered(path))
      .map((path) => this.shown(path))
      .sort();
  }

  private scan(submodules: readonly string[]): Map<string, Kept> {
    const found = new Map<string, Kept>();
    const note = (path: string) => {
      const kept = this.noteNonFolderAbove(path, found) ? undefined : keptAt(path);
      if (kept !== undefined && found.size < MAX_FILES) found.set(path, kept);
    };
    const noteAll = (folder: string) => {
      note(folder);
      if (this.isReal(folder)) for (const path of filesBelow(folder, MAX_FILES)) note(join(folder, path));
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
      const isRepository = lstatIfAny(join(folder, 'HEAD')) !== undefined;
      for (const entry of folderEntries(folder)) {
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
    for (const entry of this.isReal(worktrees) ? folderEntries(worktrees) : []) {
      const folder = join(worktrees, entry.name);
      if (entry.isSymbolicLink()) note(folder);
      if (!entry.isDirectory()) continue;
      note(join(folder, 'config.worktree'));
      // Worktrees come and go, but their `commondir` is always the same.
      const common = join(folder, 'commondir');
      if (keptAt(common)?.content !== COMMON) note(common);
    }
    for (const folder of this.hooks) noteAll(folder);
    for (const folder of submodules)
      if (this.isReal(join(folder, '.git'))) noteRepository(join(folder, '.git'));
    return found;
  }

  /** The folders above a path, starting below one that an agent cannot have replaced. */
  private foldersAbove(path: string): string[] {
    const bases = [this.common, this.root, ...this.hooks.map(dirname)];
    const base = bases.find((one) => isInside(path, one)) ?? dirname(path);
    const names = relative(base, dirname(path)).split(sep).filter(Boolean);
    return names.map((_, index) => join(base, ...names.slice(0, index + 1)));
  }

  /** Whether it is a folder that is not reached through a link. */
  private isReal(folder: string): boolean {
    return this.foldersAbove(join(folder, 'x')).every((one) => lstatIfAny(one)?.isDirectory() === true);
  }

  /** Notes the first entry above a path that should be a folder and is not. */
  private noteNonFolderAbove(path: string, found: Map<string, Kept>): boolean {
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
    // Checked again: anything here that is not a folder was put there by an agent.
    for (const folder of kept === undefined ? [] : this.foldersAbove(path)) {
      if (lstatIfAny(folder)?.isDirectory() === true) continue;
      rmSync(folder, { force: true });
      mkdirSync(folder);
    }
    if (kept === undefined) {
      if (this.isReal(dirname(path))) rmSync(path, { recursive: true, force: true });
      return;
    }
    if (lstatIfAny(path)?.isDirectory()) rmSync(path, { recursive: true, force: true });
    if (kept.kind === 'link') {
      const draft = `${path}.volley-${process.pid}`;
      rmSync(draft, { recursive: true, force: true });
      symlinkSync(kept.content, draft);
      renameSync(draft, path);
    } else if (kept.kind === 'file')
      writeAtomically(path, kept.content, { encoding: 'latin1', mode: kept.mode });
    else throw new Error('it was not a file or link, or too large to keep');
  }
}

/** The folders of all submodules in the index, recursively. */
async function submodulesOf(root: string): Promise<string[]> {
  const { exitCode, stdout } = await new Git(root).run(['ls-files', '--stage', '-z']);
  if (exitCode !== 0) return [];
  const found: string[] = [];
  for (const path of new Set(submodulePaths(stdout))) {
    const folder = join(root, path);
    // Without a `.git`, git would answer for the surrounding repository.
    const isFilled = lstatIfAny(folder)?.isDirectory() && lstatIfAny(join(folder, '.git')) !== undefined;
    found.push(folder, ...(isFilled ? await submodulesOf(folder) : []));
  }
  return found;
}

/** `core.hooksPath`, except as Volley itself sets it. */
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
  const stats = lstatIfAny(path);
  return { path, kept: keptAt(path), inode: stats?.isDirectory() ? inodeOf(stats) : undefined };
}

function inodeOf(stats: Stats | undefined): string | undefined {
  return stats && `${stats.dev}:${stats.ino}`;
}

/** Undefined if it is missing or a folder. */
function keptAt(path: string): Kept | undefined {
  const stats = lstatIfAny(path);
  if (stats === undefined || stats.isDirectory()) return undefined;
  const mode = stats.mode & 0o777;
  try {
    if (stats.isSymbolicLink()) return { kind: 'link', content: readlinkSync(path), mode: 0 };
    if (stats.isFile() && stats.size <= MAX_BYTES)
      return { kind: 'file', content: readFileSync(path, 'latin1'), mode };
  } catch {
    // Unreadable, or replaced just now.
  }
  return { kind: 'other', content: '', mode };
}

function isSame(a: Kept | undefined, b: Kept | undefined): boolean {
  return a?.content === b?.content && a?.kind === b?.kind && a?.mode === b?.mode;
}

/** Ordinary use writes the sections for tracked branches and the user. */
function isSameExceptHabits(a: Kept | undefined, b: Kept | undefined): boolean {
  if (a === undefined || b === undefined || a.kind !== 'file' || b.kind !== 'file') return false;
  return withoutHabits(a.content) === withoutHabits(b.content);
}

function withoutHabits(config: string): string {
  let isHabit = false;
  const kept = config.split('\n').filter((line) => {
    // A line may hold several sections, and a trailing backslash continues it.
    if (/[[\\]/.test(line)) isHabit = /^\s*\[(?:user|branch "[^"\\[\]]*")\]\s*$/i.test(line);
    return !isHabit && line.trim() !== '';
  });
  return kept.join('\n');
}
