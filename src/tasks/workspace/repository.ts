import { mkdir, readFile, rm } from 'node:fs/promises';
import { join, posix, resolve } from 'node:path';
import { gitFoldersOf } from '../../config/git-folders.ts';
import { VolleyError } from '../../core/errors.ts';
import { listText } from '../../core/words.ts';
import { withFolderLock } from '../files/folder-lock.ts';
import { Git, gitFailureText } from './git.ts';

/** How long making, merging and removing worktrees of others may take. */
const PATIENCE_MS = 15 * 60_000;
const MAX_LISTED = 5;
export const BRANCHES = 'refs/heads/volley/';

/** The repository of a project, on the branch that work is merged into. */
export class Repository {
  private turn: Promise<unknown> = Promise.resolve();

  private constructor(
    /** In the root of the project's own working tree. */
    readonly git: Git,
    /** The project within it: empty, or ends with `/`. */
    readonly prefix: string,
    /** The full name of the branch; where none is checked out, the commit that is. */
    readonly branch: string,
    private readonly lockFolder: string,
    /** The file that names the commit which is being merged. */
    readonly mergeMark: string,
  ) {}

  /** Refuses what worktrees cannot work with, and ends a merge that a crash of ours left behind. */
  static async open(project: string): Promise<Repository> {
    const repository = await Repository.find(project);
    const { git, prefix, mergeMark } = repository;
    if ((await branchOf(git)) === undefined)
      throw refused(git.folder, 'no branch is checked out: check out the one to work on');
    if (await git.succeeds(['show-ref', '--verify', '-q', BRANCHES.slice(0, -1)]))
      throw refused(git.folder, 'there is a branch volley, which leaves no room for volley/…: rename it');
    await repository.exclusive(async () => {
      await endOwnMerge(git, mergeMark);
      await requireClean(git, prefix);
    });
    return repository;
  }

  /** As it stands, for those who merge nothing. */
  static async find(project: string): Promise<Repository> {
    const { root, prefix, common } = await placeOf(project);
    const git = await withIdentity(new Git(root));
    if (!(await git.succeeds(['rev-parse', '--verify', '-q', 'HEAD^{commit}'])))
      throw refused(root, 'the repository has no commit yet: commit what there is');
    const branch = (await branchOf(git)) ?? (await commitOf(git, 'HEAD'));
    const lockFolder = join(common, 'volley');
    await mkdir(lockFolder, { recursive: true });
    const mergeMark = join(gitFoldersOf(root)?.own ?? common, 'volley-merge');
    return new Repository(git, prefix, branch, lockFolder, mergeMark);
  }

  /** One after another, also between processes: git refuses much of what is done to a repository at the same time. */
  exclusive<T>(work: () => Promise<T>): Promise<T> {
    const result = this.turn.then(() => withFolderLock(this.lockFolder, work, PATIENCE_MS));
    this.turn = result.catch(() => {});
    return result;
  }

  /** The branch without what all branches begin with. */
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
    throw refused(project, 'it is in no git repository: make one (git init) and commit what there is');
  if (place.exitCode !== 0)
    throw refused(project, `git says ${JSON.stringify(gitFailureText(place))}: see to that`);
  const [root, prefix, common] = place.stdout.split('\n') as [string, string, string];
  return { root, prefix, common: resolve(project, common) };
}

/** Commits have an author, whether or not the user has told git who that is. */
async function withIdentity(git: Git): Promise<Git> {
  const isKnown = async (who: string) => git.succeeds(['var', `GIT_${who}_IDENT`]);
  if ((await isKnown('AUTHOR')) && (await isKnown('COMMITTER'))) return git;
  return git.with('user.name=Volley', 'user.email=volley@localhost');
}

/** What a merge that is under way brings in. */
export async function mergedHead(git: Git): Promise<string | undefined> {
  const { exitCode, stdout } = await git.run(['rev-parse', '--verify', '-q', 'MERGE_HEAD']);
  return exitCode === 0 ? stdout.trim() : undefined;
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
  const what = `there are changes that are not committed, and worktrees would not have them (${shown}): commit or stash them`;
  throw refused(git.folder, what);
}

function refused(folder: string, what: string): VolleyError {
  const message = `Worktrees cannot be made in ${folder}: ${what}, or run without worktrees.`;
  return new VolleyError('WORKSPACE_UNAVAILABLE', message, { folder });
}

/** A path of the repository as seen from the project within it. What of git's own counts keeps its name. */
export function toProjectPath(prefix: string, path: string): string {
  return prefix === '' || path.startsWith('.git/') ? path : posix.relative(`/${prefix}`, `/${path}`);
}

/** What Volley itself writes into a project. It is nobody's work. */
export const VOLLEY_PATHS = ['.tmp/tasks', '.volley'] as const;

export function isVolleyPath(path: string): boolean {
  return VOLLEY_PATHS.some((own) => path === own || path.startsWith(`${own}/`));
}
