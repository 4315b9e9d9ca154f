import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { VolleyError } from '../../core/errors.ts';
import { listText, reasonText } from '../../core/words.ts';
import { runCommand } from '../../runners/process/command.ts';
import type { Launcher } from '../../runners/process/launcher.ts';
import type { Subtask } from '../files/feature.ts';
import { projectPathProblem } from '../plan/validate.ts';
import { outputEnd } from '../verify/command-runner.ts';
import { childEnvironment } from './child-environment.ts';
import type { DeniedPaths } from './denied-paths.ts';
import { MergeQueue } from './merge-queue.ts';
import { Repository, toProjectPath } from './repository.ts';
import type { Leftover, Workspace, Workspaces } from './workspace.ts';
import { ignoredAmong, Worktree } from './worktree.ts';
import {
  createWorktree,
  isInUse,
  markInUse,
  mergeFolderName,
  removeWorktree,
  uncommittedPaths,
  type WorktreePlace,
  worktreeNames,
} from './worktree-folders.ts';

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
  const intake = new MergeQueue(repository, join(folder, mergeFolderName(feature)));
  await intake.reset();
  const statusNow = () => repository.exclusive(() => uncommittedPaths(repository.git, repository));
  const before = new Set(await statusNow());
  return {
    leftover: (subtask) => mergedLeftover(repository, folder, feature, subtask),
    open: (subtask, signal) => open(repository, intake, options, subtask, signal),
    changedInProject: async () => (await statusNow()).filter((path) => !before.has(path)),
  };
}

async function open(
  repository: Repository,
  intake: MergeQueue,
  options: WorktreeOptions,
  subtask: Subtask,
  signal: AbortSignal,
): Promise<Workspace> {
  const { project, feature, denied } = options;
  const prepare = (folder: string, signal: AbortSignal) => makeReady(options, subtask, folder, signal);
  const place = await repository.exclusive(async () => {
    signal.throwIfAborted();
    return createWorktree(repository, join(project, WORKTREES), feature, subtask.seq);
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
    await repository.exclusive(() => removeWorktree(repository.git, place.root, place.branch));
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
  { root }: WorktreePlace,
  { seq, deliverables }: Subtask,
): Promise<void> {
  const paths = deliverables
    .filter((one) => projectPathProblem(one) === undefined)
    .map((one) => prefix + one);
  const ignored = (await ignoredAmong(git.in(root), paths)).map((path) => path.slice(prefix.length));
  if (ignored.length === 0) return;
  const message = `Git ignores ${listText(ignored)}, so it would never come out of the worktree of subtask ${seq}: take it out of the deliverables, or run without worktrees.`;
  throw new VolleyError('WORKTREE_FAILED', message, { seq, ignored });
}

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
      paths: paths.map((path) => toProjectPath(prefix, path)),
      remove: () => repository.exclusive(() => removeWorktree(git, root, name.branch)),
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

const TIMEOUT_MS = 30 * 60_000;
const OUTPUT_BYTES = 64 * 1024 * 1024;
const SETUP_SHOWN_LENGTH = 1000;

export interface Setup {
  readonly command: string;
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Runs the user's command that makes a new worktree ready for work. */
export async function runSetup(launcher: Launcher, setup: Setup, signal: AbortSignal): Promise<void> {
  const { command, folder, env } = setup;
  const late = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const { exitCode, stdout, stderr } = await runCommand(launcher, {
      argv: ['/bin/sh', '-c', command],
      cwd: folder,
      env: { ...childEnvironment(), ...env },
      limits: { outputBytes: OUTPUT_BYTES },
      signal: AbortSignal.any([signal, late]),
    });
    if (exitCode === 0) return;
    const ends = [stdout, stderr]
      .map((text) => outputEnd(text, SETUP_SHOWN_LENGTH))
      .filter((end) => end !== '');
    throw new Error(`it ended with exit status ${exitCode}: ${ends.join('\n')}`);
  } catch (error) {
    signal.throwIfAborted();
    const message = `The set-up of a worktree failed (${command}): ${reasonText(error)}`;
    throw new VolleyError('WORKTREE_FAILED', message, { command }, { cause: error });
  }
}
