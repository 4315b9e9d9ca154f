import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { VolleyError } from '../../core/errors.ts';
import { listText } from '../../core/words.ts';
import type { Launcher } from '../../runners/process/launcher.ts';
import type { Subtask } from '../feature.ts';
import type { DeniedPaths } from '../permissions/denied.ts';
import { problemOf } from '../validate/deliverables.ts';
import { ignoredAmong } from './commit.ts';
import { Intake } from './intake.ts';
import { mergedLeftover } from './leftover.ts';
import { intakeFolder } from './names.ts';
import { makePlace, markInUse, type Place, removePlace } from './place.ts';
import { Repository } from './repository.ts';
import { runSetup } from './setup.ts';
import { uncommitted } from './work-left.ts';
import type { Workspace, Workspaces } from './workspace.ts';
import { Worktree } from './worktree.ts';

export interface WorktreeOptions {
  /** The folder that paths count from; it may stand below the root of the repository. */
  readonly project: string;
  readonly feature: string;
  /** A shell command that makes a new worktree ready, run in it. */
  readonly setup?: string | undefined;
  /** What may not be merged, whoever has changed it. */
  readonly denied: Pick<DeniedPaths, 'among'>;
  /** Asked for only where there is a set-up. */
  launcher(): Launcher;
}

/** Where they are in a project. */
export const WORKTREES = join('.volley', 'worktrees');

/**
 * Each works in a git worktree of its own, with a branch of its own, which is merged into the branch that the project is
 * on. Refuses with `WORKSPACE_UNAVAILABLE` where the project cannot have worktrees as it stands.
 */
export async function gitWorktrees(options: WorktreeOptions): Promise<Workspaces> {
  const repository = await Repository.open(options.project);
  const { project, feature } = options;
  const folder = join(project, WORKTREES);
  const intake = new Intake(repository, join(folder, intakeFolder(feature)));
  await intake.reset();
  const statusNow = () => repository.alone(() => uncommitted(repository.git, repository));
  const before = new Set(await statusNow());
  return {
    leftover: (subtask) => mergedLeftover(repository, folder, feature, subtask),
    open: (subtask, signal) => open(repository, intake, options, subtask, signal),
    strayed: async () => (await statusNow()).filter((path) => !before.has(path)),
  };
}

async function open(
  repository: Repository,
  intake: Intake,
  options: WorktreeOptions,
  subtask: Subtask,
  signal: AbortSignal,
): Promise<Workspace> {
  const { project, feature, denied } = options;
  const prepare = (folder: string, signal: AbortSignal) => makeReady(options, subtask, folder, signal);
  const place = await repository.alone(async () => {
    signal.throwIfAborted();
    return makePlace(repository, join(project, WORKTREES), feature, subtask.seq);
  });
  try {
    const folder = resolve(place.root, repository.prefix);
    await requireDeliverable(repository, place, subtask);
    await prepare(folder, signal);
    const terms = { subtask, denied, intake, prepare };
    const worktree = await Worktree.start(repository, place, folder, terms);
    signal.throwIfAborted();
    await markInUse(place);
    return worktree;
  } catch (error) {
    await repository.alone(() => removePlace(repository.git, place.root, place.branch));
    throw error;
  }
}

async function makeReady(
  { project, feature, setup, launcher }: WorktreeOptions,
  { seq }: Subtask,
  folder: string,
  signal: AbortSignal,
): Promise<void> {
  // Git makes no folder in which it has no file.
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if (setup === undefined) return;
  const env = { VOLLEY_FEATURE: feature, VOLLEY_SUBTASK: seq, VOLLEY_TASKS_PROJECT: project };
  await runSetup(launcher(), { command: setup, folder, env }, signal);
}

/** What git ignores would be verified in the worktree, and never reach the project. */
async function requireDeliverable(
  { git, prefix }: Repository,
  { root }: Place,
  { seq, deliverables }: Subtask,
): Promise<void> {
  const paths = deliverables.filter((one) => problemOf(one) === undefined).map((one) => prefix + one);
  const ignored = (await ignoredAmong(git.in(root), paths)).map((path) => path.slice(prefix.length));
  if (ignored.length === 0) return;
  const message = `Git ignores ${listText(ignored)}, so it would never come out of the worktree of subtask ${seq}: take it out of the deliverables, or run without worktrees.`;
  throw new VolleyError('WORKTREE_FAILED', message, { seq, ignored });
}
