import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { gitFoldersOf } from '../../config/git-folders.ts';
import type { Git } from './git.ts';
import { isOwnPath } from './own-paths.ts';
import { fromProject } from './project-path.ts';
import type { Repository } from './repository.ts';

/** What a worktree or its branch has and the project's branch has not. */
export interface WorkLeft {
  readonly commits: number;
  /** What is not committed, as seen from the project. What git ignores does not count. */
  readonly paths: readonly string[];
  /** Why that cannot be told, in words. */
  readonly problem?: string;
}

/** In the folder that git has for a worktree: an agent may have worked there. */
export const MARK = 'volley-in-use';
const STATUS = ['status', '--porcelain', '-z', '--no-renames', '--untracked-files=normal'];

/** Whether something would be lost with it. */
export function isWork({ commits, paths, problem }: WorkLeft): boolean {
  return commits > 0 || paths.length > 0 || problem !== undefined;
}

/** Whether an agent may have worked there. */
export function isInUse(root: string): boolean {
  const own = existsSync(join(root, '.git')) ? gitFoldersOf(root)?.own : undefined;
  return own !== undefined && existsSync(join(own, MARK));
}

/** What is left of work in a folder that need not exist, and on a branch, if there is one. */
export async function workLeft(
  repository: Repository,
  root: string,
  ref: string | undefined,
): Promise<WorkLeft> {
  const { git, branch } = repository;
  const refs = ref === undefined ? [] : [ref];
  const own = existsSync(join(root, '.git')) ? gitFoldersOf(root)?.own : undefined;
  try {
    if (isInUse(root)) {
      const tree = git.in(root);
      return {
        commits: await countOf(tree, ['HEAD', ...refs], branch),
        paths: await uncommitted(tree, repository),
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
export async function uncommitted(tree: Git, { prefix }: Repository): Promise<string[]> {
  const entries = await tree.paths([...STATUS, '--ignore-submodules=none']);
  return entries
    .map((entry) => fromProject(prefix, entry.slice('XY '.length)))
    .filter((path) => !isOwnPath(path));
}
