import { existsSync, realpathSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { nameOfBranch, nameOfFolder, type WorktreeName } from './names.ts';
import { removePlace } from './place.ts';
import { BRANCHES, type Repository } from './repository.ts';
import { type WorkLeft, workLeft } from './work-left.ts';

/** A worktree that is there though nobody works in it any more, or the branch that is left of one. */
export interface KeptWorktree extends WorktreeName {
  /** The whole path of its folder; undefined where that is gone. */
  readonly root: string | undefined;
  /** The commit of its branch; undefined where that is gone. */
  readonly tip: string | undefined;
  readonly work: WorkLeft;
}

interface Tip {
  readonly commit: string;
  /** Where it is checked out; empty where it is not. */
  readonly at: string;
}

/** All that stands in the folder of worktrees, and branches of ours that no folder has any more. */
export async function keptWorktrees(repository: Repository, folder: string): Promise<KeptWorktree[]> {
  const tips = await tipsOf(repository);
  const entries = await readdir(folder, { withFileTypes: true });
  const names = new Map<string, WorktreeName>();
  for (const entry of entries) {
    const name = entry.isDirectory() ? nameOfFolder(entry.name) : undefined;
    if (name !== undefined && !isElsewhere(tips.get(name.branch), join(folder, name.folder)))
      names.set(name.branch, name);
  }
  for (const [branch, { at }] of tips) {
    const name = nameOfBranch(branch);
    if (name !== undefined && !(at !== '' && existsSync(at))) names.set(branch, name);
  }
  const kept: KeptWorktree[] = [];
  for (const name of names.values()) {
    const root = join(folder, name.folder);
    const tip = tips.get(name.branch)?.commit;
    const work = await workLeft(repository, root, tip);
    kept.push({ ...name, root: existsSync(root) ? root : undefined, tip, work });
  }
  return kept.sort((a, b) => (a.folder < b.folder ? -1 : 1));
}

/** Whatever it holds. */
export function removeKept({ git }: Repository, folder: string, { folder: name, branch }: KeptWorktree) {
  return removePlace(git, join(folder, name), branch);
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
