import { rm, writeFile } from 'node:fs/promises';
import { listText } from '../../core/words.ts';
import { type Git, wordsOf } from './git.ts';
import { fromProject } from './project-path.ts';
import { branchOf, mergedHead, type Repository, shortName } from './repository.ts';
import type { Delivery } from './workspace.ts';

const MAX_LISTED = 10;
const PLAINLY = ['-q', '--no-squash', '--no-verify'];

/** Why nothing can be merged into the project as it stands. */
export async function obstacleToMerging({
  git,
  branch,
  branchName,
}: Repository): Promise<string | undefined> {
  const current = await branchOf(git);
  if (current !== branch) {
    const now = current === undefined ? 'no branch' : shortName(current);
    return `the project is on ${now} now, not on ${branchName} as at the start`;
  }
  if ((await mergedHead(git)) !== undefined)
    return 'another merge is under way in the project: commit it, or give it up (git merge --abort)';
  return undefined;
}

/** Merges a commit into the branch of the project. Where that cannot be done, the project stays as it is. */
export async function mergeWork(repository: Repository, commit: string, message: string): Promise<Delivery> {
  // After a crash it tells this merge from one that the user has begun, which is not ours to give up.
  await writeFile(repository.mergeMark, commit);
  const delivery = await mergeInto(repository.git, repository, commit, message);
  await rm(repository.mergeMark, { force: true });
  return delivery;
}

/** Merges a commit into what a working tree of the repository has checked out. */
export async function mergeInto(
  tree: Git,
  { branchName, prefix }: Repository,
  commit: string,
  message: string,
): Promise<Delivery> {
  const how = [...PLAINLY, '--no-ff', '--commit', '--no-edit'];
  const merged = await tree.run(['merge', ...how, '-m', message, commit]);
  if (merged.exitCode === 0) return { ok: true };
  const isOpen = (await mergedHead(tree)) === commit;
  const conflicts = isOpen ? await tree.paths(['diff', '--name-only', '--diff-filter=U', '-z']) : [];
  if (isOpen) await tree.ask(['merge', '--abort']);
  if (conflicts.length === 0) return failure(`git could not merge it into ${branchName}: ${wordsOf(merged)}`);
  const paths = [...new Set(conflicts.map((path) => fromProject(prefix, path)))].sort();
  const shown = listText(paths.slice(0, MAX_LISTED), paths.length);
  return failure(`it is in conflict with what ${branchName} has by now in ${shown}`, paths);
}

/** Moves the branch of the project on to a commit that follows it. */
export async function forwardTo({ git, branchName }: Repository, commit: string): Promise<Delivery> {
  const moved = await git.run(['merge', ...PLAINLY, '--ff-only', commit]);
  if (moved.exitCode === 0) return { ok: true };
  return failure(`git could not merge it into ${branchName}: ${wordsOf(moved)}`);
}

export function failure(text: string, conflicts: readonly string[] = []): Delivery {
  return { ok: false, text, conflicts };
}
