import { lstatSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gitFoldersOf } from '../config/git-folders.ts';
import type { Git } from './git.ts';

/** A worktree that was made for an agent. */
export interface WorktreePlace {
  readonly root: string;
  readonly branch: string;
  /** Git's own folder for this worktree, outside of it. */
  readonly gitFolder: string;
  /** The commit it started from. */
  readonly base: string;
}

/** Makes a folder whose content git ignores, whatever the project's own `.gitignore` says. */
export async function makeIgnoredFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeFile(join(folder, '.gitignore'), '*\n');
}

/** Not safe to call concurrently: git refuses many at once. */
export async function addWorktree(
  git: Git,
  root: string,
  branch: string,
  base: string,
): Promise<WorktreePlace> {
  // Forced, since git may remember a worktree there whose folder is gone.
  await git.ask(['worktree', 'add', '-q', '-f', '--no-track', '-b', branch, root, base]);
  return { root, branch, gitFolder: gitFoldersOf(root)!.own, base };
}

export async function removeWorktree(git: Git, root: string, branch: string): Promise<void> {
  await removeWorktreeFolder(git, root);
  await git.run(['update-ref', '-d', `refs/heads/${branch}`]);
}

/** Removes a worktree, whatever it holds. */
export async function removeWorktreeFolder(git: Git, root: string): Promise<void> {
  // First the folder: git would refuse to remove one that it does not recognize.
  await rm(root, { recursive: true, force: true });
  // Forced twice, to include locked worktrees.
  await git.run(['worktree', 'remove', '--force', '--force', root]);
}

/**
 * Restores the `.git` file of a worktree, since another one would make git read other settings. Returns whether it was
 * intact.
 */
export function restoreLink({ root, gitFolder }: WorktreePlace): boolean {
  const path = join(root, '.git');
  const text = `gitdir: ${gitFolder}\n`;
  const isFile = lstatSync(path, { throwIfNoEntry: false })?.isFile() === true;
  if (isFile && readFileSync(path, 'utf8') === text) return true;
  rmSync(path, { recursive: true, force: true });
  writeFileSync(path, text);
  return false;
}
