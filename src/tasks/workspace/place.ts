import { existsSync, realpathSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gitFoldersOf } from '../../config/git-folders.ts';
import { VolleyError } from '../../core/errors.ts';
import { shellQuote } from '../../core/shell-quote.ts';
import type { Git } from './git.ts';
import { worktreeNames } from './names.ts';
import type { Repository } from './repository.ts';
import { isWork, MARK, workLeft } from './work-left.ts';

/** A worktree that was made: its root, and its branch. */
export interface Place {
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
export async function makePlace(
  repository: Repository,
  folder: string,
  feature: string,
  seq: string,
): Promise<Place> {
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
export async function markInUse({ gitFolder }: Place): Promise<void> {
  await writeFile(join(gitFolder, MARK), '');
}

export async function removePlace(git: Git, root: string, branch: string): Promise<void> {
  await removeTree(git, root);
  await git.run(['update-ref', '-d', `refs/heads/${branch}`]);
}

/** Removes a worktree, whatever it holds. */
export async function removeTree(git: Git, root: string): Promise<void> {
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
  if (isWork(await workLeft(repository, root, found === '' ? undefined : ref))) return false;
  await removePlace(git, root, branch);
  return true;
}

function isSameFolder(one: string, other: string): boolean {
  return existsSync(other) && realpathSync(one) === realpathSync(other);
}

/** Whether the project's branch has all commits of another. */
export async function isMerged({ git, branch }: Repository, other: string): Promise<boolean> {
  return git.succeeds(['merge-base', '--is-ancestor', other, branch]);
}
