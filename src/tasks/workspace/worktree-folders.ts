import { createHash } from 'node:crypto';
import { existsSync, realpathSync } from 'node:fs';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gitFoldersOf } from '../../config/git-folders.ts';
import { VolleyError } from '../../core/errors.ts';
import { shellQuote } from '../../core/shell-quote.ts';
import type { Git } from './git.ts';
import { isVolleyPath, type Repository, toProjectPath } from './repository.ts';

/** How a worktree is named: its folder, and its branch below `volley/`. */
export interface WorktreeName {
  readonly folder: string;
  readonly branch: string;
}

const MAX_NAMES = 100;

/** Names for an attempt, best first; others are for when work that was kept has it. */
export function* worktreeNames(feature: string, seq: string): Generator<WorktreeName> {
  const name = plain(feature);
  for (let number = 1; number <= MAX_NAMES; number++) {
    const place = number === 1 ? plain(seq) : `${plain(seq)}.${number}`;
    yield { folder: `${name}-${place}`, branch: `volley/${name}/${place}` };
  }
}

/** The folder in which the work of a feature is looked at together with what the project has. */
export function mergeFolderName(feature: string): string {
  return `${plain(feature)}-merge`;
}

/** What the branches of all worktrees of a feature begin with. */
export function branchPrefix(feature: string): string {
  return `volley/${plain(feature)}/`;
}

/** Whose folder this is. Numbers of subtasks have no hyphens. */
export function worktreeOfFolder(folder: string): WorktreeName | undefined {
  const [, name, place] = /^(.+)-([^-]+)$/.exec(folder) ?? [];
  return name === undefined ? undefined : { folder, branch: `volley/${name}/${place}` };
}

export function worktreeOfBranch(branch: string): WorktreeName | undefined {
  const [, name, place] = /^volley\/([^/]+)\/([^/]+)$/.exec(branch) ?? [];
  return name === undefined ? undefined : { folder: `${name}-${place}`, branch };
}

/** Git forbids much in names of branches. What had to be changed is told apart by its end. */
function plain(text: string): string {
  const name = text
    .replace(/[^\p{L}\p{N}_.-]+/gu, '-')
    .replace(/\.{2,}/g, '.')
    .replace(/^[.-]+|[.-]+$/g, '')
    .replace(/\.lock$/i, '-lock');
  return name === text ? name : `${name}_${createHash('sha256').update(text).digest('hex').slice(0, 8)}`;
}

/** A worktree that was made: its root, and its branch. */
export interface WorktreePlace {
  readonly root: string;
  readonly branch: string;
  /** What git keeps of it, outside of it. */
  readonly gitFolder: string;
  /** Where it began. */
  readonly base: string;
}

/**
 * Makes a worktree of the project's branch, under the first name that is free. What a crash left behind under a name is
 * removed if it holds no work, and is otherwise kept. Called by one at a time.
 */
export async function createWorktree(
  repository: Repository,
  folder: string,
  feature: string,
  seq: string,
): Promise<WorktreePlace> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  // Whatever the project has git ignore, this is.
  await writeFile(join(folder, '.gitignore'), '*\n');
  for (const name of worktreeNames(feature, seq)) {
    const root = join(folder, name.folder);
    if (!(await isFree(repository, root, name.branch))) continue;
    const base = await repository.head();
    // Forced, for git may remember a worktree there whose folder is gone.
    await repository.git.ask(['worktree', 'add', '-q', '-f', '--no-track', '-b', name.branch, root, base]);
    const gitFolder = gitFoldersOf(root)!.own;
    return { root, branch: name.branch, gitFolder, base };
  }
  const message = `There are 100 worktrees with work that was kept for subtask ${seq} of ${feature}: volley tasks worktrees ${shellQuote(feature)} shows them, and removes them with --remove.`;
  throw new VolleyError('WORKTREE_FAILED', message, { folder });
}

/** From here on the worktree may hold work. */
export async function markInUse({ gitFolder }: WorktreePlace): Promise<void> {
  await writeFile(join(gitFolder, IN_USE_MARK), '');
}

export async function removeWorktree(git: Git, root: string, branch: string): Promise<void> {
  await removeWorktreeFolder(git, root);
  await git.run(['update-ref', '-d', `refs/heads/${branch}`]);
}

/** Removes a worktree, whatever it holds. */
export async function removeWorktreeFolder(git: Git, root: string): Promise<void> {
  // Git forgets one that is gone, but not one that it does not know again.
  await rm(root, { recursive: true, force: true });
  // Twice, to remove locked ones, too.
  await git.run(['worktree', 'remove', '--force', '--force', root]);
}

async function isFree(repository: Repository, root: string, branch: string): Promise<boolean> {
  const { git } = repository;
  const ref = `refs/heads/${branch}`;
  const found = await git.ask(['for-each-ref', '--format=%(refname) %(worktreepath)', ref]);
  if (found === '' && !existsSync(root)) return true;
  if (found !== '') {
    // Another project of the same repository may have a feature of this name.
    const elsewhere = found.trim().slice(ref.length + 1);
    if (elsewhere !== '' && existsSync(elsewhere) && !isSameFolder(elsewhere, root)) return false;
  }
  if (hasUnmergedWork(await findUnmergedWork(repository, root, found === '' ? undefined : ref))) return false;
  await removeWorktree(git, root, branch);
  return true;
}

function isSameFolder(one: string, other: string): boolean {
  return existsSync(other) && realpathSync(one) === realpathSync(other);
}

/** Whether the project's branch has all commits of another. */
export async function isMerged({ git, branch }: Repository, other: string): Promise<boolean> {
  return git.succeeds(['merge-base', '--is-ancestor', other, branch]);
}

/** What a worktree or its branch has and the project's branch has not. */
export interface UnmergedWork {
  readonly commits: number;
  /** What is not committed, as seen from the project. What git ignores does not count. */
  readonly paths: readonly string[];
  /** Why that cannot be told, in words. */
  readonly problem?: string;
}

/** In the folder that git has for a worktree: an agent may have worked there. */
export const IN_USE_MARK = 'volley-in-use';
const STATUS = ['status', '--porcelain', '-z', '--no-renames', '--untracked-files=normal'];

/** Whether something would be lost with it. */
export function hasUnmergedWork({ commits, paths, problem }: UnmergedWork): boolean {
  return commits > 0 || paths.length > 0 || problem !== undefined;
}

/** Whether an agent may have worked there. */
export function isInUse(root: string): boolean {
  const own = existsSync(join(root, '.git')) ? gitFoldersOf(root)?.own : undefined;
  return own !== undefined && existsSync(join(own, IN_USE_MARK));
}

/** What is left of work in a folder that need not exist, and on a branch, if there is one. */
export async function findUnmergedWork(
  repository: Repository,
  root: string,
  ref: string | undefined,
): Promise<UnmergedWork> {
  const { git, branch } = repository;
  const refs = ref === undefined ? [] : [ref];
  const own = existsSync(join(root, '.git')) ? gitFoldersOf(root)?.own : undefined;
  try {
    if (isInUse(root)) {
      const tree = git.in(root);
      return {
        commits: await countOf(tree, ['HEAD', ...refs], branch),
        paths: await uncommittedPaths(tree, repository),
      };
    }
    const commits = refs.length === 0 ? 0 : await countOf(git, refs, branch);
    const isKnown = own !== undefined && existsSync(own);
    // Git does not know it, perhaps because the project was moved: an empty folder is all that can be spared.
    const paths = isKnown || !existsSync(root) ? [] : await readdir(root);
    return { commits, paths: paths.filter((name) => name !== '.git') };
  } catch (error) {
    return { commits: 0, paths: [], problem: (error as Error).message };
  }
}

async function countOf(git: Git, tips: readonly string[], branch: string): Promise<number> {
  return Number(await git.ask(['rev-list', '--count', ...tips, '--not', branch]));
}

/** What git knows of a tree that is not committed, as seen from the project. */
export async function uncommittedPaths(tree: Git, { prefix }: Repository): Promise<string[]> {
  const entries = await tree.paths([...STATUS, '--ignore-submodules=none']);
  return entries
    .map((entry) => toProjectPath(prefix, entry.slice('XY '.length)))
    .filter((path) => !isVolleyPath(path));
}
