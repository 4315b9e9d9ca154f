import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { TaskFolder } from './files/task-folder.ts';
import { unknownFeature } from './lookup.ts';
import { whileNotRun } from './run/while-not-run.ts';
import { seqOfReference } from './seq.ts';
import { type KeptWorktree, keptWorktrees, removeKept } from './workspace/kept.ts';
import { branchesOf, worktreeNames } from './workspace/names.ts';
import { Repository } from './workspace/repository.ts';
import { isWork } from './workspace/work-left.ts';
import { WORKTREES } from './workspace/worktrees.ts';

/** Which worktrees are meant: of a feature, of one of its subtasks, or all. */
export interface KeptChoice {
  readonly feature?: string | undefined;
  readonly seq?: string | undefined;
}

/** What is kept of the work of agents, as the project stands. */
export interface KeptWork {
  /** What their work was compared with: a branch, or a commit. */
  readonly branch: string;
  readonly worktrees: readonly KeptWorktree[];
}

export interface KeptRemoval extends KeptWork {
  readonly removed: readonly KeptWorktree[];
}

/** What is kept; features that were put away may have some, too. */
export async function keptWork(folder: TaskFolder, choice: KeptChoice): Promise<KeptWork> {
  const place = join(folder.project, WORKTREES);
  const repository = existsSync(place) ? await Repository.find(folder.project) : undefined;
  const all = repository === undefined ? [] : await repository.alone(() => keptWorktrees(repository, place));
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
export async function removeKeptWork(
  folder: TaskFolder,
  choice: KeptChoice,
  force: boolean,
): Promise<KeptRemoval> {
  const before = await keptWork(folder, choice);
  const removed: KeptWorktree[] = [];
  const isToGo = ({ work }: KeptWorktree) => force || !isWork(work);
  if (before.worktrees.some(isToGo)) {
    const repository = await Repository.find(folder.project);
    const place = join(folder.project, WORKTREES);
    const remove = (isOf: (kept: KeptWorktree) => boolean) =>
      repository.alone(async () => {
        // Looked at anew, for nobody can run it now.
        const now = await keptWorktrees(repository, place);
        for (const kept of now.filter((one) => isOf(one) && isMeantBy(choice)(one) && isToGo(one))) {
          await removeKept(repository, place, kept);
          removed.push(kept);
        }
      });
    const names = await folder.names();
    const ownerOf = ({ branch }: KeptWorktree) => names.find((name) => branch.startsWith(branchesOf(name)));
    const owners = new Set(before.worktrees.filter(isToGo).map(ownerOf));
    for (const owner of owners) {
      const isOf = (kept: KeptWorktree) => ownerOf(kept) === owner;
      // One that was put away is run by nobody.
      if (owner === undefined) await remove(isOf);
      else await whileNotRun(folder, owner, () => remove(isOf));
    }
  }
  const gone = new Set(removed.map(({ branch }) => branch));
  return { ...before, worktrees: before.worktrees.filter(({ branch }) => !gone.has(branch)), removed };
}

function isMeantBy({ feature, seq }: KeptChoice): (kept: KeptWorktree) => boolean {
  if (feature === undefined) return () => true;
  if (seq === undefined) return ({ branch }) => branch.startsWith(branchesOf(feature));
  const names = [...worktreeNames(feature, seqOfReference(seq, feature))].map(({ branch }) => branch);
  return ({ branch }) => names.includes(branch);
}
