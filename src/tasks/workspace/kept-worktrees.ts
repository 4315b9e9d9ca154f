import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { BRANCHES, Repository } from '../../git/repository.ts';
import { removeWorktree } from '../../git/worktree-place.ts';
import { withRunLock } from '../files/run-lock.ts';
import { seqFromReference, unknownFeature } from '../files/subtask-reference.ts';
import type { TaskFolder } from '../files/task-folder.ts';
import {
  branchPrefix,
  findUnmergedWork,
  hasUnmergedWork,
  isElsewhere,
  type UnmergedWork,
  WORKTREES,
  type WorktreeName,
  worktreeNames,
  worktreeOfBranch,
  worktreeOfFolder,
} from './worktree-folders.ts';

/** The worktrees of a feature, of one of its subtasks, or all. */
interface KeptChoice {
  readonly feature?: string | undefined;
  readonly seq?: string | undefined;
}

/** A worktree that was kept after its attempt ended, or its remaining branch. */
export interface KeptWorktree extends WorktreeName {
  /** The absolute path; undefined if the folder is gone. */
  readonly root: string | undefined;
  /** The commit of its branch; undefined if the branch is gone. */
  readonly tip: string | undefined;
  readonly work: UnmergedWork;
}

export interface KeptWorktrees {
  /** The branch or commit that the work was compared with. */
  readonly branch: string;
  readonly worktrees: readonly KeptWorktree[];
}

interface KeptRemoval extends KeptWorktrees {
  readonly removed: readonly KeptWorktree[];
}

interface Tip {
  readonly commit: string;
  /** Where it is checked out; empty if nowhere. */
  readonly at: string;
}

/** Lists kept worktrees, including those of archived features. */
export async function listKeptWorktrees(folder: TaskFolder, choice: KeptChoice): Promise<KeptWorktrees> {
  const place = join(folder.project, WORKTREES);
  const repository = existsSync(place) ? await Repository.find(folder.project) : undefined;
  const all =
    repository === undefined ? [] : await repository.exclusive(() => findKeptWorktrees(repository, place));
  const worktrees = all.filter(matches(choice));
  const { feature } = choice;
  if (worktrees.length === 0 && feature !== undefined) {
    const names = await folder.names();
    if (!names.includes(feature)) throw unknownFeature(feature, names);
  }
  return { branch: repository?.branchName ?? '', worktrees };
}

/**
 * Removes worktrees without unmerged work; with `force`, also those with such work. Throws `FEATURE_RUNNING` for a
 * feature that is being run.
 */
export async function removeKeptWorktrees(
  folder: TaskFolder,
  choice: KeptChoice,
  force: boolean,
): Promise<KeptRemoval> {
  const before = await listKeptWorktrees(folder, choice);
  const removed: KeptWorktree[] = [];
  const isRemovable = ({ work }: KeptWorktree) => force || !hasUnmergedWork(work);
  if (before.worktrees.some(isRemovable)) {
    const repository = await Repository.find(folder.project);
    const place = join(folder.project, WORKTREES);
    const remove = (isOf: (kept: KeptWorktree) => boolean) =>
      repository.exclusive(async () => {
        // Listed again, now that nobody can run the feature.
        const now = await findKeptWorktrees(repository, place);
        for (const kept of now.filter((one) => isOf(one) && matches(choice)(one) && isRemovable(one))) {
          await removeWorktree(repository.git, join(place, kept.folder), kept.branch);
          removed.push(kept);
        }
      });
    const names = await folder.names();
    const ownerOf = ({ branch }: KeptWorktree) => names.find((name) => branch.startsWith(branchPrefix(name)));
    for (const owner of new Set(before.worktrees.filter(isRemovable).map(ownerOf))) {
      const isOf = (kept: KeptWorktree) => ownerOf(kept) === owner;
      // An archived feature cannot be running.
      if (owner === undefined) await remove(isOf);
      else await withRunLock(folder, owner, () => remove(isOf));
    }
  }
  const gone = new Set(removed.map(({ branch }) => branch));
  return { ...before, worktrees: before.worktrees.filter(({ branch }) => !gone.has(branch)), removed };
}

function matches({ feature, seq }: KeptChoice): (kept: KeptWorktree) => boolean {
  if (feature === undefined) return () => true;
  if (seq === undefined) return ({ branch }) => branch.startsWith(branchPrefix(feature));
  const names = [...worktreeNames(feature, seqFromReference(seq, feature))].map(({ branch }) => branch);
  return ({ branch }) => names.includes(branch);
}

/** All worktree folders, and Volley's branches that have no folder. */
async function findKeptWorktrees(repository: Repository, folder: string): Promise<KeptWorktree[]> {
  const tips = await readTips(repository);
  const entries = await readdir(folder, { withFileTypes: true });
  const names = new Map<string, WorktreeName>();
  for (const entry of entries) {
    const name = entry.isDirectory() ? worktreeOfFolder(entry.name) : undefined;
    if (name !== undefined && !isElsewhere(tips.get(name.branch)?.at ?? '', join(folder, name.folder)))
      names.set(name.branch, name);
  }
  for (const [branch, { at }] of tips) {
    const name = worktreeOfBranch(branch);
    if (name !== undefined && !(at !== '' && existsSync(at))) names.set(branch, name);
  }
  const kept: KeptWorktree[] = [];
  for (const name of names.values()) {
    const root = join(folder, name.folder);
    const tip = tips.get(name.branch)?.commit;
    const work = await findUnmergedWork(repository, root, tip);
    kept.push({ ...name, root: existsSync(root) ? root : undefined, tip, work });
  }
  return kept.sort((a, b) => (a.folder < b.folder ? -1 : 1));
}

async function readTips({ git }: Repository): Promise<Map<string, Tip>> {
  const format = '--format=%(refname:lstrip=2) %(objectname) %(worktreepath)';
  const lines = (await git.ask(['for-each-ref', format, BRANCHES])).split('\n');
  return new Map(
    lines.flatMap((line) => {
      const found = /^(\S+) (\S+) (.*)$/.exec(line);
      return found === null ? [] : [[found[1]!, { commit: found[2]!, at: found[3]! }] as const];
    }),
  );
}
