import { listText } from '../../core/words.ts';
import { wordsOf } from './git.ts';
import { fromProject } from './project-path.ts';
import { branchOf, type Repository, shortName } from './repository.ts';
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
  const how = ['-q', '--no-ff', '--no-squash', '--commit', '--no-edit', '--no-verify'];
  const merged = await git.run(['merge', ...how, '-m', message, commit]);
  if (merged.exitCode === 0) return { ok: true };
  const conflicts = await git.paths(['diff', '--name-only', '--diff-filter=U', '-z']);
  if (await git.succeeds(['rev-parse', '--verify', '-q', 'MERGE_HEAD'])) await git.ask(['merge', '--abort']);
  if (conflicts.length === 0) return failure(`git could not merge it into ${branchName}: ${wordsOf(merged)}`);
  const paths = [...new Set(conflicts.map((path) => fromProject(prefix, path)))].sort();
  const shown = listText(paths.slice(0, MOST_LISTED), paths.length);
  return failure(`it is in conflict with what ${branchName} has by now in ${shown}`, paths);
}

export function failure(text: string, conflicts: readonly string[] = []): Delivery {
  return { ok: false, text, conflicts };
}
