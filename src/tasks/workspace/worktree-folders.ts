import { createHash } from 'node:crypto';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { gitFoldersOf } from '../../config/git-folders.ts';
import { VolleyError } from '../../core/errors.ts';
import { shellQuote } from '../../core/shell-quote.ts';
import type { Git } from '../../git/git.ts';
import { isVolleyPath, type Repository, toProjectPath } from '../../git/repository.ts';
import {
  addWorktree,
  makeIgnoredFolder,
  removeWorktree,
  type WorktreePlace,
} from '../../git/worktree-place.ts';

/** The folder of a worktree, and its branch below `volley/`. */
export interface WorktreeName {
  readonly folder: string;
  readonly branch: string;
}

/** Work in a worktree or its branch that the project's branch does not have. */
export interface UnmergedWork {
  readonly commits: number;
  /** Uncommitted paths relative to the project, without ignored files. */
  readonly paths: readonly string[];
  /** Why git does not know. */
  readonly problem?: string;
}

/** The folder of all worktrees of a project. */
export const WORKTREES = join('.volley', 'worktrees');
const MAX_NAMES = 100;
/** A file in git's folder for a worktree: an agent may have worked there. */
const IN_USE_MARK = 'volley-in-use';
const STATUS = ['status', '--porcelain', '-z', '--no-renames', '--untracked-files=normal'];

/** The names for an attempt, in order of preference; later ones are for when earlier names hold kept work. */
export function* worktreeNames(feature: string, seq: string): Generator<WorktreeName> {
  const name = validName(feature);
  for (let number = 1; number <= MAX_NAMES; number++) {
    const place = number === 1 ? validName(seq) : `${validName(seq)}.${number}`;
    yield { folder: `${name}-${place}`, branch: `volley/${name}/${place}` };
  }
}

/** The worktree of a subtask that has this branch. Undefined for any other branch: the task files may say anything. */
export function worktreeOfSubtask(feature: string, seq: string, branch: string): WorktreeName | undefined {
  for (const name of worktreeNames(feature, seq)) if (name.branch === branch) return name;
  return undefined;
}

/** The folder in which work of a feature is merged and checked. */
export function mergeFolderName(feature: string): string {
  return `${validName(feature)}-merge`;
}

/** The prefix of all branches of a feature. */
export function branchPrefix(feature: string): string {
  return `volley/${validName(feature)}/`;
}

/** Works because subtask numbers have no hyphens. */
export function worktreeOfFolder(folder: string): WorktreeName | undefined {
  const [, name, place] = /^(.+)-([^-]+)$/.exec(folder) ?? [];
  return name === undefined ? undefined : { folder, branch: `volley/${name}/${place}` };
}

export function worktreeOfBranch(branch: string): WorktreeName | undefined {
  const [, name, place] = /^volley\/([^/]+)\/([^/]+)$/.exec(branch) ?? [];
  return name === undefined ? undefined : { folder: `${name}-${place}`, branch };
}

/** Replaces what git forbids in branch names. A hash keeps replaced names distinct. */
function validName(text: string): string {
  const name = text
    .replace(/[^\p{L}\p{N}_.-]+/gu, '-')
    .replace(/\.{2,}/g, '.')
    .replace(/^[.-]+|[.-]+$/g, '')
    .replace(/\.lock$/i, '-lock');
  return name === text ? name : `${name}_${createHash('sha256').update(text).digest('hex').slice(0, 8)}`;
}

/**
 * Makes a worktree of the project's branch under the first free name. A leftover from a crash is removed if it has no
 * work, otherwise kept. Not safe to call concurrently.
 */
export async function createWorktree(
  repository: Repository,
  folder: string,
  feature: string,
  seq: string,
): Promise<WorktreePlace> {
  await makeIgnoredFolder(folder);
  for (const name of worktreeNames(feature, seq)) {
    const root = join(folder, name.folder);
    if (!(await isFree(repository, root, name.branch))) continue;
    return addWorktree(repository.git, root, name.branch, await repository.head());
  }
  const message = `Subtask ${seq} of ${feature} has ${MAX_NAMES} worktrees with unmerged work. List them with volley tasks worktrees ${shellQuote(feature)}, and remove them with --remove.`;
  throw new VolleyError('WORKTREE_FAILED', message, { folder });
}

async function isFree(repository: Repository, root: string, branch: string): Promise<boolean> {
  const { git } = repository;
  const ref = `refs/heads/${branch}`;
  const found = await git.ask(['for-each-ref', '--format=%(refname) %(worktreepath)', ref]);
  if (found === '' && !existsSync(root)) return true;
  if (found !== '' && isElsewhere(found.trim().slice(ref.length + 1), root)) return false;
  if (hasUnmergedWork(await findUnmergedWork(repository, root, found === '' ? undefined : ref))) return false;
  await removeWorktree(git, root, branch);
  return true;
}

/** Whether a branch is checked out at another path: another project of the repository may use the same name. */
export function isElsewhere(checkedOutAt: string, root: string): boolean {
  if (checkedOutAt === '' || !existsSync(checkedOutAt)) return false;
  return !existsSync(root) || realpathSync(checkedOutAt) !== realpathSync(root);
}

/** From here on the worktree may hold work. */
export async function markInUse({ gitFolder, base }: WorktreePlace): Promise<void> {
  await writeFile(join(gitFolder, IN_USE_MARK), base);
}

/** The commit that a worktree in use began with. */
export function baseOf(root: string): string {
  return readFileSync(join(gitFolderOf(root)!, IN_USE_MARK), 'utf8');
}

export function isMerged({ git, branch }: Repository, commit: string): Promise<boolean> {
  return git.isAncestor(commit, branch);
}

export function hasUnmergedWork({ commits, paths, problem }: UnmergedWork): boolean {
  return commits > 0 || paths.length > 0 || problem !== undefined;
}

/** Whether an agent may have worked there. */
export function isInUse(root: string): boolean {
  const own = gitFolderOf(root);
  return own !== undefined && existsSync(join(own, IN_USE_MARK));
}

function gitFolderOf(root: string): string | undefined {
  return existsSync(join(root, '.git')) ? gitFoldersOf(root)?.own : undefined;
}

/** Git's folder for a worktree, unless the link in the worktree was changed. */
export async function ownGitFolder({ git }: Repository, root: string): Promise<string | undefined> {
  const own = gitFolderOf(root);
  if (own === undefined || !existsSync(own)) return undefined;
  const common = resolve(git.folder, (await git.ask(['rev-parse', '--git-common-dir'])).trim());
  const isBelow = dirname(realpathSync(own)) === join(realpathSync(common), 'worktrees');
  const link = (await readFile(join(own, 'gitdir'), 'utf8').catch(() => '')).trim();
  const isLinked = existsSync(link) && realpathSync(dirname(link)) === realpathSync(root);
  return isBelow && isLinked ? own : undefined;
}

/** Inspects a folder, which need not exist, and a branch, if there is one. */
export async function findUnmergedWork(
  repository: Repository,
  root: string,
  ref: string | undefined,
): Promise<UnmergedWork> {
  const { git, branch } = repository;
  const refs = ref === undefined ? [] : [ref];
  const count = async (tree: Git, tips: readonly string[]) =>
    Number(await tree.ask(['rev-list', '--count', ...tips, '--not', branch]));
  try {
    if (isInUse(root)) {
      const tree = git.in(root);
      return {
        commits: await count(tree, ['HEAD', ...refs]),
        paths: await uncommittedPaths(tree, repository),
      };
    }
    const commits = refs.length === 0 ? 0 : await count(git, refs);
    const own = gitFolderOf(root);
    const isKnown = own !== undefined && existsSync(own);
    // Git may not know the folder if the project was moved. Then only an empty folder is safe to remove.
    const paths = isKnown || !existsSync(root) ? [] : await readdir(root);
    return { commits, paths: paths.filter((name) => name !== '.git') };
  } catch (error) {
    return { commits: 0, paths: [], problem: (error as Error).message };
  }
}

/** Uncommitted changes of a working tree, relative to the project. */
export async function uncommittedPaths(tree: Git, { prefix }: Repository): Promise<string[]> {
  const entries = await tree.paths([...STATUS, '--ignore-submodules=none']);
  return entries
    .map((entry) => toProjectPath(prefix, entry.slice('XY '.length)))
    .filter((path) => !isVolleyPath(path));
}
