import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { DeniedPaths } from '../../agents/denied-paths.ts';
import { VolleyError } from '../../core/errors.ts';
import { listText, reasonText } from '../../core/words.ts';
import { childEnvironment } from '../../git/child-environment.ts';
import { type Repository, toProjectPath } from '../../git/repository.ts';
import { removeWorktree } from '../../git/worktree-place.ts';
import { runCommand } from '../../runners/process/command.ts';
import type { Launcher } from '../../runners/process/launcher.ts';
import type { Rejection, Subtask } from '../files/feature.ts';
import { projectPathProblem } from '../plan/deliverables.ts';
import { outputEnds } from '../verify/command-runner.ts';
import { failure, MergeQueue } from './merge-queue.ts';
import type { Leftover, Workspace, Workspaces } from './workspace.ts';
import { ignoredAmong, plainMessage, Worktree } from './worktree.ts';
import {
  baseOf,
  createWorktree,
  findUnmergedWork,
  hasUnmergedWork,
  isInUse,
  markInUse,
  mergeFolderName,
  ownGitFolder,
  uncommittedPaths,
  WORKTREES,
  worktreeNames,
  worktreeOfSubtask,
} from './worktree-folders.ts';

interface WorktreeOptions {
  /** Opened for the branch that gets the work. */
  readonly repository: Repository;
  /** The folder that paths are relative to; it may be below the root of the repository. */
  readonly project: string;
  readonly feature: string;
  /** A shell command that prepares a new worktree. */
  readonly setup?: string | undefined;
  /** Never merged, no matter what changed it. */
  readonly denied: Pick<DeniedPaths, 'among'>;
  /** Called only if there is a setup command. */
  launcher(): Launcher;
}

const MAX_MERGES = 1000;
const SETUP_TIMEOUT_MS = 30 * 60_000;
const SETUP_OUTPUT_BYTES = 64 * 1024 * 1024;
const SETUP_SHOWN_LENGTH = 1000;

/** Gives each attempt its own git worktree and branch, which is merged into the branch of the repository. */
export async function gitWorktrees(options: WorktreeOptions): Promise<Workspaces> {
  const { repository, project, feature } = options;
  const folder = join(project, WORKTREES);
  const queue = new MergeQueue(
    repository,
    join(folder, mergeFolderName(feature)),
    repository.isApart ? await repository.head() : undefined,
  );
  await queue.reset();
  const changesNow = () => repository.exclusive(() => uncommittedPaths(repository.git, repository));
  const before = new Set(await changesNow());
  return {
    leftover: (subtask) => mergedLeftover(repository, folder, feature, subtask),
    open: (subtask, signal, work) => open(queue, options, subtask, signal, work),
    reopen: (subtask, work) => reopen(queue, options, subtask, work),
    land: async (subtask, { branch, commit }, text, guard) => {
      const name = worktreeOfSubtask(feature, subtask.seq, branch);
      if (name === undefined) return failure('its branch is not one of this subtask');
      const prepare = prepareOf(options, subtask);
      const delivery = await queue.take({ commit, branch, message: plainMessage(text), prepare }, guard);
      if (delivery.ok) await removeIfMerged(repository, join(folder, name.folder), branch);
      return delivery;
    },
    discard: async ({ seq }, branch) => {
      const name = worktreeOfSubtask(feature, seq, branch);
      if (name === undefined) return;
      await repository.exclusive(() => removeWorktree(repository.git, join(folder, name.folder), branch));
    },
    changedInProject: async () => (await changesNow()).filter((path) => !before.has(path)),
  };
}

async function open(
  queue: MergeQueue,
  options: WorktreeOptions,
  subtask: Subtask,
  signal: AbortSignal,
  work: string | undefined,
): Promise<Workspace> {
  const { repository, project, feature, denied } = options;
  const prepare = prepareOf(options, subtask);
  const place = await repository.exclusive(async () => {
    signal.throwIfAborted();
    return createWorktree(repository, join(project, WORKTREES), feature, subtask.seq);
  });
  try {
    const folder = resolve(place.root, repository.prefix);
    await requireDeliverable(repository, place.root, subtask);
    await prepare(folder, signal);
    const worktree = await Worktree.start(repository, place, folder, { subtask, denied, queue, prepare });
    signal.throwIfAborted();
    await markInUse(place);
    if (work !== undefined && (await repository.git.resolve(`${work}^{commit}`)) !== undefined)
      await worktree.mergeIn(work);
    return worktree;
  } catch (error) {
    await repository.exclusive(() => removeWorktree(repository.git, place.root, place.branch));
    throw error;
  }
}

/** Continues where an earlier attempt, perhaps of another run, left its work. */
async function reopen(
  queue: MergeQueue,
  options: WorktreeOptions,
  subtask: Subtask,
  { branch, base, commit }: Pick<Rejection, 'branch' | 'base' | 'commit'>,
): Promise<Workspace | undefined> {
  const { repository, project, feature, denied } = options;
  const name = worktreeOfSubtask(feature, subtask.seq, branch);
  if (name === undefined) return undefined;
  const root = join(project, WORKTREES, name.folder);
  const gitFolder = await ownGitFolder(repository, root);
  if (gitFolder === undefined || !isInUse(root)) return undefined;
  const git = repository.git.at(root, gitFolder);
  if (!(await git.isAncestor(commit, 'HEAD')) || !(await git.isAncestor(base, 'HEAD'))) return undefined;
  const folder = resolve(root, repository.prefix);
  const prepare = prepareOf(options, subtask);
  return Worktree.start(repository, { root, branch, gitFolder, base }, folder, {
    ...{ subtask, denied, queue, prepare },
  });
}

/** Removes a worktree whose work is merged, unless someone went on there. */
async function removeIfMerged(repository: Repository, root: string, branch: string): Promise<void> {
  await repository.exclusive(async () => {
    const ref = `refs/heads/${branch}`;
    const isThere = (await repository.git.resolve(ref)) !== undefined;
    const work = await findUnmergedWork(repository, root, isThere ? ref : undefined);
    if (!hasUnmergedWork(work)) await removeWorktree(repository.git, root, branch);
  });
}

function prepareOf(options: WorktreeOptions, subtask: Subtask) {
  return (folder: string, signal: AbortSignal) => prepareFolder(options, subtask, folder, signal);
}

/** Refuses ignored deliverables, which would pass verification in the worktree and never reach the project. */
async function requireDeliverable(
  { git, prefix }: Repository,
  root: string,
  { seq, deliverables }: Subtask,
): Promise<void> {
  const paths = deliverables
    .filter((one) => projectPathProblem(one) === undefined)
    .map((one) => prefix + one);
  const ignored = (await ignoredAmong(git.in(root), paths)).map((path) => path.slice(prefix.length));
  if (ignored.length === 0) return;
  const message = `Git ignores ${listText(ignored)}, so it cannot be merged from the worktree of subtask ${seq}. Remove it from the deliverables, or run without worktrees.`;
  throw new VolleyError('WORKTREE_FAILED', message, { seq, ignored });
}

/** Creates the project's folder in a worktree and runs the user's setup command. */
async function prepareFolder(
  { project, feature, setup, launcher }: WorktreeOptions,
  { seq }: Subtask,
  folder: string,
  signal: AbortSignal,
): Promise<void> {
  // Git does not create folders without files.
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if (setup !== undefined)
    await runSetup(setup, { project, feature, seq, launcher: launcher() }, folder, signal);
}

/** Runs the user's setup command in a new worktree. */
export async function runSetup(
  setup: string,
  place: {
    readonly project: string;
    readonly feature: string;
    readonly seq: string;
    readonly launcher: Launcher;
  },
  folder: string,
  signal: AbortSignal,
): Promise<void> {
  const { project, feature, seq, launcher } = place;
  const own = { VOLLEY_FEATURE: feature, VOLLEY_SUBTASK: seq, VOLLEY_TASKS_PROJECT: project };
  try {
    const result = await runCommand(launcher, {
      argv: ['/bin/sh', '-c', setup],
      cwd: folder,
      env: { ...childEnvironment(), ...own },
      limits: { outputBytes: SETUP_OUTPUT_BYTES },
      signal: AbortSignal.any([signal, AbortSignal.timeout(SETUP_TIMEOUT_MS)]),
    });
    if (result.exitCode === 0) return;
    throw new Error(`exit status ${result.exitCode}: ${outputEnds(result, SETUP_SHOWN_LENGTH)}`);
  } catch (error) {
    signal.throwIfAborted();
    const message = `The setup command of a worktree failed (${setup}): ${reasonText(error)}`;
    throw new VolleyError('WORKTREE_FAILED', message, { command: setup }, { cause: error });
  }
}

/** Work of an interrupted attempt that was merged before the subtask was completed. */
async function mergedLeftover(
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
    const merge = await findMerge(repository, name.branch, baseOf(root));
    // A merge from before the start belongs to an earlier subtask of this name. Git stores whole seconds.
    if (merge === undefined || merge.at + 1000 <= startedAt) continue;
    const paths = await git.paths(['diff', '--name-only', '--no-renames', '-z', merge.before, merge.commit]);
    return {
      paths: paths.map((path) => toProjectPath(prefix, path)),
      remove: () => repository.exclusive(() => removeWorktree(git, root, name.branch)),
    };
  }
  return undefined;
}

/** The merge commit that brought a whole branch into the project's branch. */
async function findMerge({ git, branch, isApart }: Repository, other: string, base: string) {
  const tip = await git.resolve(`refs/heads/${other}`);
  if (tip === undefined) return undefined;
  if (isApart) {
    if (tip === base || !(await git.isAncestor(tip, branch))) return undefined;
    const seconds = await git.ask(['log', '-1', '--format=%ct', tip]);
    return { commit: tip, before: `${tip}^`, at: Number(seconds) * 1000 };
  }
  const how = ['--first-parent', '--merges', `--max-count=${MAX_MERGES}`, '--format=%H %ct %P'];
  const merges = (await git.ask(['log', ...how, `${tip}..${branch}`])).split('\n');
  for (const merge of merges) {
    const [commit, seconds, before, merged] = merge.split(' ');
    if (merged === tip) return { commit: commit!, before: before!, at: Number(seconds) * 1000 };
  }
  return undefined;
}
