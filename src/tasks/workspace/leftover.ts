import { join } from 'node:path';
import type { Subtask } from '../feature.ts';
import { worktreeNames } from './names.ts';
import { removePlace } from './place.ts';
import { fromProject } from './project-path.ts';
import type { Repository } from './repository.ts';
import { isInUse } from './work-left.ts';
import type { Leftover } from './workspace.ts';

const MAX_MERGES = 1000;

/** What an attempt at a subtask had merged when it was cut short, before anybody noted that it was completed. */
export async function mergedLeftover(
  repository: Repository,
  folder: string,
  feature: string,
  { seq, startedAt }: Subtask,
): Promise<Leftover | undefined> {
  const { git, prefix } = repository;
  if (startedAt === undefined) return undefined;
  for (const name of worktreeNames(feature, seq)) {
    const root = join(folder, name.folder);
    if (!isInUse(root)) continue;
    const merge = await mergeOf(repository, name.branch);
    // What was merged before the subtask was begun is of another of its name. Git knows whole seconds.
    if (merge === undefined || merge.at + 1000 <= startedAt) continue;
    const paths = await git.paths(['diff', '--name-only', '--no-renames', '-z', merge.before, merge.commit]);
    return {
      paths: paths.map((path) => fromProject(prefix, path)),
      remove: () => repository.alone(() => removePlace(git, root, name.branch)),
    };
  }
  return undefined;
}

/** The merge that brought the whole of a branch into that of the project. */
async function mergeOf({ git, branch }: Repository, other: string) {
  const { exitCode, stdout } = await git.run(['rev-parse', '--verify', '-q', `refs/heads/${other}`]);
  if (exitCode !== 0) return undefined;
  const tip = stdout.trim();
  const how = ['--first-parent', '--merges', `--max-count=${MAX_MERGES}`, '--format=%H %ct %P'];
  const merges = (await git.ask(['log', ...how, `${tip}..${branch}`])).split('\n');
  for (const merge of merges) {
    const [commit, seconds, before, merged] = merge.split(' ');
    if (merged === tip) return { commit: commit!, before: before!, at: Number(seconds) * 1000 };
  }
  return undefined;
}
