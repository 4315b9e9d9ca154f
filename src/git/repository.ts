import { mkdir, readFile, rm } from 'node:fs/promises';
import { join, posix, resolve } from 'node:path';
import { gitFoldersOf } from '../config/git-folders.ts';
import { VolleyError } from '../core/errors.ts';
import { listText } from '../core/words.ts';
import { withFolderLock } from '../store/folder-lock.ts';
import { Git, gitFailureText } from './git.ts';

/** How long others may take to make, merge and remove worktrees. */
const PATIENCE_MS = 15 * 60_000;
const MAX_LISTED = 5;
export const BRANCHES = 'refs/heads/volley/';

/** The repository of a project, and the branch that work is merged into. */
export class Repository {
  private turn: Promise<unknown> = Promise.resolve();

  private constructor(
    /** Runs in the root of the project's own working tree. */
    readonly git: Git,
    /** The project's path in the repository: empty, or ends with `/`. */
    readonly prefix: string,
    /** The full name of the branch, or the commit if HEAD is detached. */
    readonly branch: string,
    private readonly lockFolder: string,
    /** A file with the commit that is being merged. */
    readonly mergeMark: string,
    /** Whether the branch is not checked out: then it gets one commit for each merge, and the checkout is untouched. */
    readonly isApart = false,
  ) {}

  /**
   * Checks that worktrees can be used, and aborts a merge of ours that a crash interrupted. With the name of a branch, work
   * is merged into that one, which begins at the current commit if it does not exist.
   */
  static async open(project: string, into?: string): Promise<Repository> {
    const repository = await Repository.find(project);
    if (into !== undefined) return repository.apart(into);
    const { git, prefix, mergeMark } = repository;
    if ((await branchOf(git)) === undefined)
      throw refused(git.folder, 'no branch is checked out. Check out a branch');
    if (await git.succeeds(['show-ref', '--verify', '-q', BRANCHES.slice(0, -1)]))
      throw refused(git.folder, 'a branch named volley prevents branches named volley/…. Rename it');
    await repository.exclusive(async () => {
      await endOwnMerge(git, mergeMark);
      await requireClean(git, prefix);
    });
    return repository;
  }

  /** Without these checks, for callers that do not merge. */
  static async find(project: string): Promise<Repository> {
    const { root, prefix, common } = await placeOf(project);
    const git = await withIdentity(new Git(root));
    if ((await git.resolve('HEAD^{commit}')) === undefined)
      throw refused(root, 'the repository has no commits. Make one');
    const branch = (await branchOf(git)) ?? (await commitOf(git, 'HEAD'));
    const lockFolder = join(common, 'volley');
    await mkdir(lockFolder, { recursive: true });
    const mergeMark = join(gitFoldersOf(root)?.own ?? common, 'volley-merge');
    return new Repository(git, prefix, branch, lockFolder, mergeMark);
  }

  private async apart(name: string): Promise<Repository> {
    const { git, prefix, lockFolder, mergeMark } = this;
    const branch = `refs/heads/${name}`;
    const isValid = !name.startsWith('-') && (await git.succeeds(['check-ref-format', branch]));
    if (!isValid || branch.startsWith(BRANCHES))
      throw new VolleyError('INVALID_VALUE', `${JSON.stringify(name)} cannot be the name of the branch.`);
    const repository = new Repository(git, prefix, branch, lockFolder, mergeMark, true);
    await repository.exclusive(async () => {
      const place = await repository.checkedOutAt();
      if (place !== '')
        throw refused(git.folder, `${name} is checked out in ${place}. Choose another branch`);
      if ((await git.resolve(branch)) === undefined) await git.ask(['update-ref', branch, 'HEAD', '']);
    });
    return repository;
  }

  /** The worktree that has the branch checked out; empty if none has. */
  async checkedOutAt(): Promise<string> {
    return (await this.git.ask(['for-each-ref', '--format=%(worktreepath)', this.branch])).trim();
  }

  /** Serializes changes, also between processes, since git refuses many concurrent operations. */
  exclusive<T>(work: () => Promise<T>): Promise<T> {
    const result = this.turn.then(() => withFolderLock(this.lockFolder, work, PATIENCE_MS));
    this.turn = result.catch(() => {});
    return result;
  }

  /** The branch without `refs/heads/`. */
  get branchName(): string {
    return shortName(this.branch);
  }

  head(): Promise<string> {
    return commitOf(this.git, this.branch);
  }
}

export function shortName(ref: string): string {
  return ref.replace(/^refs\/heads\//, '');
}

export async function commitOf(git: Git, name: string): Promise<string> {
  return (await git.ask(['rev-parse', '--verify', '-q', `${name}^{commit}`])).trim();
}

/** The full name of the branch that is checked out, if one is. */
export async function branchOf(git: Git): Promise<string | undefined> {
  const { exitCode, stdout } = await git.run(['symbolic-ref', '-q', 'HEAD']);
  return exitCode === 0 ? stdout.trim() : undefined;
}

async function placeOf(project: string) {
  const git = new Git(project);
  const place = await git.run(['rev-parse', '--show-toplevel', '--show-prefix', '--git-common-dir']);
  if (/not a git repository/.test(place.stderr))
    throw refused(project, 'it is not in a git repository. Make one (git init) and commit');
  if (place.exitCode !== 0)
    throw refused(project, `git says ${JSON.stringify(gitFailureText(place))}. Fix that`);
  const [root, prefix, common] = place.stdout.split('\n') as [string, string, string];
  return { root, prefix, common: resolve(project, common) };
}

/** Commits need an author, even if the user has not configured one. */
async function withIdentity(git: Git): Promise<Git> {
  const isKnown = async (who: string) => git.succeeds(['var', `GIT_${who}_IDENT`]);
  if ((await isKnown('AUTHOR')) && (await isKnown('COMMITTER'))) return git;
  return git.with('user.name=Volley', 'user.email=volley@localhost');
}

/** The commit of a merge in progress. */
export function mergedHead(git: Git): Promise<string | undefined> {
  return git.resolve('MERGE_HEAD');
}

async function endOwnMerge(git: Git, mergeMark: string): Promise<void> {
  const commit = await readFile(mergeMark, 'utf8').catch(() => undefined);
  if (commit === undefined) return;
  if ((await mergedHead(git)) === commit) await git.ask(['merge', '--abort']);
  await rm(mergeMark, { force: true });
}

async function requireClean(git: Git, prefix: string): Promise<void> {
  const status = ['status', '--porcelain', '-z', '--no-renames', '--untracked-files=no'];
  const entries = await git.paths([...status, '--ignore-submodules=dirty']);
  const changed = entries
    .map((entry) => toProjectPath(prefix, entry.slice('XY '.length)))
    .filter((path) => !isVolleyPath(path));
  if (changed.length === 0) return;
  const shown = listText(changed.slice(0, MAX_LISTED), changed.length);
  const what = `uncommitted changes would be missing from worktrees (${shown}). Commit or stash them`;
  throw refused(git.folder, what);
}

function refused(folder: string, what: string): VolleyError {
  const message = `Cannot make worktrees in ${folder}: ${what}, or run without worktrees.`;
  return new VolleyError('WORKSPACE_UNAVAILABLE', message, { folder });
}

/** A repository path relative to the project. Refs, which begin with `.git/`, keep their names. */
export function toProjectPath(prefix: string, path: string): string {
  return prefix === '' || path.startsWith('.git/') ? path : posix.relative(`/${prefix}`, `/${path}`);
}

/** Folders that Volley itself writes to. They are never part of an agent's work. */
export const VOLLEY_PATHS = ['.tmp/tasks', '.volley'] as const;

export function isVolleyPath(path: string): boolean {
  return VOLLEY_PATHS.some((own) => path === own || path.startsWith(`${own}/`));
}
