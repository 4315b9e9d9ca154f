import { relative } from 'node:path';
import { shellQuote } from '../../../core/shell-quote.ts';
import { countText, listText } from '../../../core/words.ts';
import {
  type KeptWorktree,
  type KeptWorktrees,
  listKeptWorktrees,
  removeKeptWorktrees,
} from '../../../tasks/workspace/kept-worktrees.ts';
import { hasUnmergedWork } from '../../../tasks/workspace/worktree-folders.ts';
import { usageError } from '../../output/messages.ts';
import { type CommonOptions, defineCommand } from '../../program/command.ts';
import { FEATURES_ARGUMENT, openFolder, say } from './support.ts';

interface WorktreesOptions extends CommonOptions {
  readonly remove?: boolean;
  readonly force?: boolean;
}

const MAX_NAMED = 5;
const MAX_PATHS = 200;
const SHORT_HASH = 12;

export const worktreesCommand = defineCommand<WorktreesOptions>({
  examples: [
    'volley tasks worktrees',
    'volley tasks worktrees auth-system --remove',
    'volley tasks worktrees auth-system 01 --remove --force',
  ],
  declare: (program) =>
    program
      .argument(...FEATURES_ARGUMENT)
      .argument('[seq]', 'the number of the subtask (default: all)')
      .option('--remove', 'remove worktrees without unmerged work')
      .option('--force', 'with --remove and a feature: also remove unmerged work'),
  run: async ([feature, seq], options, io) => {
    const { remove = false, force = false } = options;
    if (force && !remove) throw usageError('--force requires --remove.');
    if (force && feature === undefined) throw usageError('--force requires a feature.');
    const folder = openFolder(io);
    const choice = { feature, seq };
    const { removed, ...found } = remove
      ? await removeKeptWorktrees(folder, choice, force)
      : { ...(await listKeptWorktrees(folder, choice)), removed: [] };
    const shown = (one: KeptWorktree) => ({
      ...{ name: one.folder, folder: one.root ?? null, branch: one.branch, tip: one.tip ?? null },
      ...{
        commits: one.work.commits,
        changes: one.work.paths.slice(0, MAX_PATHS),
        problem: one.work.problem ?? null,
      },
    });
    const data = {
      branch: found.branch,
      worktrees: found.worktrees.map(shown),
      ...(remove && { removed: removed.map(shown) }),
    };
    const lines = [
      ...removed.map((one) => `✓ Removed ${one.folder}${lossText(one)}`),
      ...keptLines(found, feature, (path) => relative(io.cwd, path)),
    ];
    return say(io, options, data, lines.join('\n'));
  },
});

function keptLines(
  { worktrees, branch }: KeptWorktrees,
  feature: string | undefined,
  placeOf: (path: string) => string,
): string[] {
  if (worktrees.length === 0) return ['No kept worktrees.'];
  const lines = worktrees.map((one) => {
    const where = one.root === undefined ? 'folder is gone' : placeOf(one.root);
    return `  ${hasUnmergedWork(one.work) ? '○' : '✓'} ${one.folder} (${where}; ${one.branch}): ${workText(one, branch)}`;
  });
  const spare = worktrees.filter(({ work }) => !hasUnmergedWork(work)).length;
  const name = shellQuote(feature ?? 'FEATURE');
  return [
    `${countText(worktrees.length, 'kept worktree')}:`,
    ...lines,
    ...(spare === 0 ? [] : ['Those marked ✓ have no unmerged work; remove them with --remove.']),
    ...worktrees.flatMap((one) => adviceLines(one, placeOf)),
    ...(spare === worktrees.length
      ? []
      : [`To discard work: volley tasks worktrees ${name} SEQ --remove --force`]),
  ];
}

/** How to get the work of a worktree into the project. */
function adviceLines({ root, branch, work }: KeptWorktree, placeOf: (path: string) => string): string[] {
  const { commits, paths } = work;
  if (commits === 0 && paths.length === 0) return [];
  const merge = `git merge ${shellQuote(branch)}`;
  if (paths.length === 0 || root === undefined) return [`To use ${branch}: ${merge}`];
  const folder = shellQuote(placeOf(root) || '.');
  const commit = `git -C ${folder} add -A && git -C ${folder} commit -m ${shellQuote(branch)}`;
  return [`To use ${branch}, commit its changes first: ${commit} && ${merge}`];
}

function workText({ work: { commits, paths, problem } }: KeptWorktree, branch: string): string {
  if (problem !== undefined) return `git cannot inspect it: ${problem.replaceAll('\n', ' ')}`;
  const parts = [
    ...(commits === 0 ? [] : [`${countText(commits, 'commit')} not in ${branch}`]),
    ...(paths.length === 0 ? [] : [`uncommitted: ${listText(paths.slice(0, MAX_NAMED), paths.length)}`]),
  ];
  return parts.length === 0 ? `nothing that is not in ${branch}` : parts.join('; ');
}

/** Git keeps commits without a branch for a while. */
function lossText({ work, tip }: KeptWorktree): string {
  return work.commits > 0 && tip !== undefined
    ? ` (to recover its commits: git branch rescued ${tip.slice(0, SHORT_HASH)})`
    : '';
}
