import { rm, writeFile } from 'node:fs/promises';
import { listText } from '../../core/words.ts';
import { wordsOf } from './git.ts';
import { fromProject } from './project-path.ts';
import { branchOf, mergedHead, type Repository, shortName } from './repository.ts';
import type { Delivery } from './workspace.ts';

const MOST_LISTED = 10;

/** Merges a commit into the branch of the project. Where that cannot be done, the project stays as it is. */
export async function mergeWork(repository: Repository, commit: string, message: string): Promise<Delivery> {
  const { git, branch, branchName, prefix } = repository;
  const current = await branchOf(git);
  if (current !== branch) {
    const now = current === undefined ? 'no branch' : shortName(current);
    return failure(`the project is on ${now} now, not on ${branchName} as at the start`);
  }
  if (await git.succeeds(['merge-base', '--is-ancestor', commit, 'HEAD'])) return { ok: true };
  if ((await mergedHead(git)) !== undefined)
    return failure('another merge is under way in the project: commit it, or give it up (git merge --abort)');
  const how = ['-q', '--no-ff', '--no-squash', '--commit', '--no-edit', '--no-verify'];
  // After a crash it tells this merge from one that the user has begun, which is not ours to give up.
  await writeFile(repository.mergeMark, commit);
  const merged = await git.run(['merge', ...how, '-m', message, commit]);
  const isOpen = merged.exitCode !== 0 && (await mergedHead(git)) === commit;
  const conflicts = isOpen ? await git.paths(['diff', '--name-only', '--diff-filter=U', '-z']) : [];
  if (isOpen) await git.ask(['merge', '--abort']);
  await rm(repository.mergeMark, { force: true });
  if (merged.exitCode === 0) return { ok: true };
  if (conflicts.length === 0) return failure(`git could not merge it into ${branchName}: ${wordsOf(merged)}`);
  const paths = [...new Set(conflicts.map((path) => fromProject(prefix, path)))].sort();
  const shown = listText(paths.slice(0, MOST_LISTED), paths.length);
  return failure(`it is in conflict with what ${branchName} has by now in ${shown}`, paths);
}

export function failure(text: string, conflicts: readonly string[] = []): Delivery {
  return { ok: false, text, conflicts };
}
