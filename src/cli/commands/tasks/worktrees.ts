import { relative } from 'node:path';
import { VolleyError } from '../../../core/errors.ts';
import { shellQuote } from '../../../core/shell-quote.ts';
import { countText, listText } from '../../../core/words.ts';
import { type KeptWork, keptWork, removeKeptWork } from '../../../tasks/kept-work.ts';
import type { KeptWorktree } from '../../../tasks/workspace/kept.ts';
import { isWork } from '../../../tasks/workspace/work-left.ts';
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
      .option('--remove', 'remove those that hold no work which the project does not have')
      .option('--force', 'with --remove and a feature: those with such work, too'),
  run: async ([feature, seq], options, io) => {
    const { remove = false, force = false } = options;
    if (force && !remove) throw usage('--force goes with --remove: alone, nothing is removed.');
    if (force && feature === undefined) throw usage('Name the feature whose work --force may remove.');
    const folder = openFolder(io);
    const choice = { feature, seq };
    const { removed, ...found } = remove
      ? await removeKeptWork(folder, choice, force)
      : { ...(await keptWork(folder, choice)), removed: [] };
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
  { worktrees, branch }: KeptWork,
  feature: string | undefined,
  placeOf: (path: string) => string,
): string[] {
  if (worktrees.length === 0) return ['No worktree is kept.'];
  const lines = worktrees.map((one) => {
    const where = one.root === undefined ? 'its folder is gone' : placeOf(one.root);
    return `  ${isWork(one.work) ? '○' : '✓'} ${one.folder} (${where}; ${one.branch}): ${workText(one, branch)}`;
  });
  const spare = worktrees.filter(({ work }) => !isWork(work)).length;
  const name = shellQuote(feature ?? 'FEATURE');
  return [
    `${countText(worktrees.length, 'worktree')} ${worktrees.length === 1 ? 'is' : 'are'} kept:`,
    ...lines,
    ...(spare === 0 ? [] : ['--remove removes those that are marked with ✓.']),
    ...(spare === worktrees.length
      ? []
      : [
          `To keep the work of one, git merge its branch; to give it up, volley tasks worktrees ${name} SEQ --remove --force.`,
        ]),
  ];
}

function workText({ work: { commits, paths, problem } }: KeptWorktree, branch: string): string {
  if (problem !== undefined) return `git cannot tell what it holds: ${problem.replaceAll('\n', ' ')}`;
  const parts = [
    ...(commits === 0 ? [] : [`${countText(commits, 'commit')} that ${branch} does not have`]),
    ...(paths.length === 0 ? [] : [`not committed: ${listText(paths.slice(0, MAX_NAMED), paths.length)}`]),
  ];
  return parts.length === 0 ? `nothing that ${branch} does not have` : parts.join('; ');
}

/** Git keeps commits that no branch has for a while. */
function lossText({ work, tip }: KeptWorktree): string {
  return work.commits > 0 && tip !== undefined
    ? `; git branch rescued ${tip.slice(0, SHORT_HASH)} brings its commits back, as long as git has them`
    : '';
}

function usage(message: string): VolleyError {
  return new VolleyError('INVALID_VALUE', message);
}
