import { existsSync, realpathSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { withRunLock } from '../files/folder-lock.ts';
import { seqFromReference, unknownFeature } from '../files/subtask-reference.ts';
import type { TaskFolder } from '../files/task-folder.ts';
import { BRANCHES, Repository } from './repository.ts';
import {
  branchPrefix,
  findUnmergedWork,
  hasUnmergedWork,
  removeWorktree,
  type UnmergedWork,
  type WorktreeName,
  worktreeNames,
  worktreeOfBranch,
  worktreeOfFolder,
} from './worktree-folders.ts';
import { WORKTREES } from './worktrees.ts';

/** Which worktrees are meant: of a feature, of one of its subtasks, or all. */
export interface KeptChoice {
  readonly feature?: string | undefined;
  readonly seq?: string | undefined;
}

/** What is kept of the work of agents, as the project stands. */
export interface KeptWorktrees {
  /** What their work was compared with: a branch, or a commit. */
  readonly branch: string;
  readonly worktrees: readonly KeptWorktree[];
}

export interface KeptRemoval extends KeptWorktrees {
  readonly removed: readonly KeptWorktree[];
}

/** What is kept; features that were put away may have some, too. */
export async function listKeptWorktrees(folder: TaskFolder, choice: KeptChoice): Promise<KeptWorktrees> {
  const place = join(folder.project, WORKTREES);
  const repository = existsSync(place) ? await Repository.find(folder.project) : undefined;
  const all =
    repository === undefined ? [] : await repository.exclusive(() => findKeptWorktrees(repository, place));
  const worktrees = all.filter(isMeantBy(choice));
  const { feature } = choice;
  if (worktrees.length === 0 && feature !== undefined) {
    const names = await folder.names();
    if (!names.includes(feature)) throw unknownFeature(feature, names);
  }
  return { branch: repository?.branchName ?? '', worktrees };
}

/**
 * Removes what holds no work; with `force` all the same. Refuses with `FEATURE_RUNNING` what agents of a run may be
 * working in.
 */
export async function removeKeptWorktrees(
  folder: TaskFolder,
  choice: KeptChoice,
  force: boolean,
): Promise<KeptRemoval> {
  const before = await listKeptWorktrees(folder, choice);
  const removed: KeptWorktree[] = [];
  const isToGo = ({ work }: KeptWorktree) => force || !hasUnmergedWork(work);
  if (before.worktrees.some(isToGo)) {
    const repository = await Repository.find(folder.project);
    const place = join(folder.project, WORKTREES);
    const remove = (isOf: (kept: KeptWorktree) => boolean) =>
      repository.exclusive(async () => {
        // Looked at anew, for nobody can run it now.
        const now = await findKeptWorktrees(repository, place);
        for (const kept of now.filter((one) => isOf(one) && isMeantBy(choice)(one) && isToGo(one))) {
          await removeKept(repository, place, kept);
          removed.push(kept);
        }
      });
    const names = await folder.names();
    const ownerOf = ({ branch }: KeptWorktree) => names.find((name) => branch.startsWith(branchPrefix(name)));
    const owners = new Set(before.worktrees.filter(isToGo).map(ownerOf));
    for (const owner of owners) {
      const isOf = (kept: KeptWorktree) => ownerOf(kept) === owner;
      // One that was put away is run by nobody.
      if (owner === undefined) await remove(isOf);
      else await withRunLock(folder, owner, () => remove(isOf));
    }
  }
  const gone = new Set(removed.map(({ branch }) => branch));
  return { ...before, worktrees: before.worktrees.filter(({ branch }) => !gone.has(branch)), removed };
}

function isMeantBy({ feature, seq }: KeptChoice): (kept: KeptWorktree) => boolean {
  if (feature === undefined) return () => true;
  if (seq === undefined) return ({ branch }) => branch.startsWith(branchPrefix(feature));
  const names = [...worktreeNames(feature, seqFromReference(seq, feature))].map(({ branch }) => branch);
  return ({ branch }) => names.includes(branch);
}

/** A worktree that is there though nobody works in it any more, or the branch that is left of one. */
export interface KeptWorktree extends WorktreeName {
  /** The whole path of its folder; undefined where that is gone. */
  readonly root: string | undefined;
  /** The commit of its branch; undefined where that is gone. */
  readonly tip: string | undefined;
  readonly work: UnmergedWork;
}

interface Tip {
  readonly commit: string;
  /** Where it is checked out; empty where it is not. */
  readonly at: string;
}

/** All that stands in the folder of worktrees, and branches of ours that no folder has any more. */
export async function findKeptWorktrees(repository: Repository, folder: string): Promise<KeptWorktree[]> {
  const tips = await tipsOf(repository);
  const entries = await readdir(folder, { withFileTypes: true });
  const names = new Map<string, WorktreeName>();
  for (const entry of entries) {
    const name = entry.isDirectory() ? worktreeOfFolder(entry.name) : undefined;
    if (name !== undefined && !isElsewhere(tips.get(name.branch), join(folder, name.folder)))
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

/** Whatever it holds. */
export function removeKept({ git }: Repository, folder: string, { folder: name, branch }: KeptWorktree) {
  return removeWorktree(git, join(folder, name), branch);
}

async function tipsOf({ git }: Repository): Promise<Map<string, Tip>> {
  const format = '--format=%(refname:lstrip=2) %(objectname) %(worktreepath)';
  const lines = (await git.ask(['for-each-ref', format, BRANCHES])).split('\n');
  return new Map(
    lines.flatMap((line) => {
      const found = /^(\S+) (\S+) (.*)$/.exec(line);
      return found === null ? [] : [[found[1]!, { commit: found[2]!, at: found[3]! }] as const];
    }),
  );
}

/** Another project of the same repository has a feature of this name, too. */
function isElsewhere(tip: Tip | undefined, root: string): boolean {
  if (tip === undefined || tip.at === '' || !existsSync(tip.at)) return false;
  return realpathSync(tip.at) !== realpathSync(root);
}
