import { setTimeout as sleep } from 'node:timers/promises';
import { DeniedPaths } from '../../agents/denied-paths.ts';
import { oneLine } from '../../batch/text.ts';
import type { VolleyConfig } from '../../config/config.ts';
import type { EnvironmentVariables } from '../../config/environment.ts';
import { VolleyError } from '../../core/errors.ts';
import { Git, splitNul } from '../../git/git.ts';
import { Repository } from '../../git/repository.ts';
import { createLauncher } from '../../runners/process/helper-launcher.ts';
import type { Feature, Subtask } from '../files/feature.ts';
import { isoTime } from '../files/readiness.ts';
import { withRunLock } from '../files/run-lock.ts';
import {
  approveReview,
  completeSubtask,
  findReview,
  rejectReview,
  unapproveReview,
} from '../files/subtask-changes.ts';
import { findSubtask } from '../files/subtask-reference.ts';
import type { TaskFolder } from '../files/task-folder.ts';
import { withCommandRunner } from '../verify/command-runner.ts';
import { requireTrusted } from '../verify/trust.ts';
import { gitWorktrees } from '../workspace/worktrees.ts';
import { refuseForAgents } from './mailbox.ts';
import { recheckAfterMerge } from './recheck.ts';
import type { RunContext } from './run-context.ts';
import type { RunTerms } from './run-request.ts';

interface LandContext extends Pick<RunContext, 'folder' | 'feature' | 'commands' | 'workspaces' | 'redact'> {
  readonly terms: Pick<RunTerms, 'branch'>;
}

/** The project whose work is reviewed. */
export interface ReviewSetting {
  readonly folder: TaskFolder;
  readonly config: VolleyConfig;
  readonly env: EnvironmentVariables;
}

interface ReviewedWork {
  readonly seq: string;
  /** What the reviewer looked at. Refused if there is other work by now. Default: what there is. */
  readonly commit?: string | undefined;
}

/** What verified work would change in the project. */
export interface ReviewDiff {
  readonly feature: string;
  readonly seq: string;
  readonly title: string;
  readonly agent: string;
  readonly attempt: number;
  readonly summary: string;
  readonly at: string;
  readonly commit: string;
  /** The last commit that it shares with the branch it would be merged into. */
  readonly base: string;
  readonly branch: string;
  /** Null counts are those of binary files. */
  readonly files: readonly {
    readonly path: string;
    readonly added: number | null;
    readonly removed: number | null;
  }[];
  /** A unified diff. */
  readonly diff: string;
  /** Whether the files or the diff were cut. */
  readonly truncated: boolean;
}

const MAX_DIFF_LENGTH = 1024 * 1024;
const MAX_FILES = 2000;
/** While a run merges what was approved. */
const PAUSE_MS = 250;
const PLAIN_DIFF = ['diff', '--no-color', '--no-ext-diff', '--no-textconv', '--no-renames'];

/** Shows the work of a subtask that waits for review. */
export async function reviewDiff(folder: TaskFolder, name: string, seq: string): Promise<ReviewDiff> {
  const feature = await folder.read(name);
  const subtask = findSubtask(feature, seq);
  const { at, agent, attempt, summary, commit, branch, into } = findReview(feature, seq);
  const git = new Git(folder.project);
  // Not where the task file says that the work began: nothing that would be merged may be missing.
  const target = into === undefined ? undefined : await git.resolve(`refs/heads/${into}`);
  const base = (await git.ask(['merge-base', target ?? 'HEAD', commit])).trim();
  const numbers = splitNul(await git.ask([...PLAIN_DIFF, '--numstat', '-z', base, commit, '--']));
  const files = numbers.slice(0, MAX_FILES).map((entry) => {
    const [added, removed, ...path] = entry.split('\t');
    const count = (text: string | undefined) => (text === '-' ? null : Number(text));
    return { path: path.join('\t'), added: count(added), removed: count(removed) };
  });
  const { exitCode, stdout } = await git.run([...PLAIN_DIFF, base, commit, '--']);
  return {
    ...{ feature: feature.name, seq: subtask.seq, title: subtask.title, agent, attempt, summary },
    ...{ at: isoTime(at), commit, base, branch, files },
    diff: stdout.slice(0, MAX_DIFF_LENGTH),
    // A diff that is far too long is not read to its end.
    truncated: exitCode !== 0 || stdout.length > MAX_DIFF_LENGTH || numbers.length > MAX_FILES,
  };
}

/**
 * Merges work that waits for review, and completes its subtask. If a run of the feature is live, that run does it, so that
 * everything is merged and checked in one place. Throws if the work cannot be merged.
 */
export async function approveWork(
  setting: ReviewSetting,
  name: string,
  request: ReviewedWork,
  signal: AbortSignal = new AbortController().signal,
): Promise<Feature> {
  const { folder, env } = setting;
  refuseForAgents(env, 'approve work');
  const before = await folder.read(name);
  const { seq } = findSubtask(before, request.seq);
  const { commit } = findReview(before, seq, request.commit);
  requireTrusted(folder, before, env);
  for (;;) {
    try {
      return await withRunLock(folder, name, () => landHere(setting, name, { seq, commit }, signal));
    } catch (error) {
      if (!(error instanceof VolleyError && error.code === 'FEATURE_RUNNING')) throw error;
    }
    const found = await landByRun(folder, name, { seq, commit }, signal);
    if (found !== undefined) return found;
  }
}

/** Sends work back to an agent, with the reason. Nothing is merged. */
export async function rejectWork(
  { folder, env }: Omit<ReviewSetting, 'config'>,
  name: string,
  { seq, commit, why }: ReviewedWork & { readonly why: string },
): Promise<Feature> {
  refuseForAgents(env, 'reject work');
  const reject = (isIdle: boolean) =>
    folder.change(name, (now, moment) =>
      rejectReview(now, { seq, why, commit, by: 'person', isIdle }, moment),
    );
  const feature = await folder.read(name);
  if (findReview(feature, seq, commit).approvedAt === undefined) return reject(false);
  // The process that merges holds this lock. If none does, it was killed.
  try {
    return await withRunLock(folder, name, () => reject(true));
  } catch (error) {
    if (!(error instanceof VolleyError && error.code === 'FEATURE_RUNNING')) throw error;
    return reject(false);
  }
}

/** Without a run. */
async function landHere(
  { folder, config }: ReviewSetting,
  name: string,
  { seq, commit }: { readonly seq: string; readonly commit: string },
  signal: AbortSignal,
): Promise<Feature> {
  const feature = await folder.read(name);
  const subtask = findSubtask(feature, seq);
  // A run may have merged it just now.
  if (subtask.status === 'completed') return feature;
  // As a run does, so that nobody rejects it while it is merged.
  await folder.change(name, (now, moment) => approveReview(now, { seq, commit }, moment));
  try {
    return await landApproved({ folder, config }, name, subtask, signal);
  } catch (error) {
    await folder.change(name, (now) => unapproveReview(now, seq)).catch(() => undefined);
    throw error;
  }
}

async function landApproved(
  { folder, config }: Pick<ReviewSetting, 'folder' | 'config'>,
  name: string,
  subtask: Subtask,
  signal: AbortSignal,
): Promise<Feature> {
  const { project } = folder;
  const { setup } = config.tasks;
  const into = subtask.review?.into;
  const denied = new DeniedPaths(config, project);
  const launcher = createLauncher();
  try {
    const workspaces = await gitWorktrees({
      repository: await Repository.open(project, into),
      ...{ project, feature: name, setup, denied },
      launcher: () => launcher,
    });
    return await withCommandRunner(config, (commands) =>
      landReviewed(
        { folder, feature: name, commands, workspaces, redact: (text) => text, terms: { branch: into } },
        subtask,
        signal,
      ),
    );
  } finally {
    await launcher.close();
  }
}

/** Lets the live run merge it. Undefined if that run ended meanwhile. */
async function landByRun(
  folder: TaskFolder,
  name: string,
  { seq, commit }: { readonly seq: string; readonly commit: string },
  signal: AbortSignal,
): Promise<Feature | undefined> {
  await folder.change(name, (now, moment) => {
    // The run may have merged it just now.
    if (findSubtask(now, seq).status === 'completed') return undefined;
    return approveReview(now, { seq, commit }, moment);
  });
  for (;;) {
    const feature = await folder.read(name);
    const { status, review } = findSubtask(feature, seq);
    if (status === 'completed') return feature;
    if (review === undefined || review.commit !== commit || review.approvedAt === undefined)
      throw notMerged(name, seq, 'The run says why: volley tasks report shows it when the run has ended.');
    if (!(await isLocked(folder, name))) return undefined;
    await sleep(PAUSE_MS, undefined, { signal });
  }
}

async function isLocked(folder: TaskFolder, name: string): Promise<boolean> {
  try {
    return await withRunLock(folder, name, async () => false);
  } catch (error) {
    if (error instanceof VolleyError && error.code === 'FEATURE_RUNNING') return true;
    throw error;
  }
}

/**
 * Merges approved work of an earlier attempt and completes its subtask. Work that does not fit the project is sent back,
 * and the next run repairs it. Throws if it was not merged.
 */
export async function landReviewed(
  context: LandContext,
  subtask: Subtask,
  signal: AbortSignal,
): Promise<Feature> {
  const { folder, feature: name, workspaces } = context;
  const { seq, startedAt = 0 } = subtask;
  const review = subtask.review!;
  const { commit } = review;
  if (review.into !== context.terms.branch) {
    await folder.change(name, (now) => unapproveReview(now, seq));
    throw notMerged(name, seq, 'The run that is live merges into another branch. Approve it after that.');
  }
  const { subtasks } = await folder.read(name);
  const meanwhile = subtasks.filter(
    ({ status, completedAt = 0 }) => status === 'completed' && completedAt >= startedAt,
  );
  const found = { evidence: [], discrepancy: undefined };
  const recheck = { signal, report: () => undefined, found };
  const delivery = await workspaces.land(subtask, review, mergeMessage(context, subtask, review.summary), {
    signal,
    confirm: async () => void findReview(await folder.read(name), seq, commit),
    recheck: () => recheckAfterMerge(context, subtask, meanwhile, recheck),
  });
  if (delivery.ok) {
    const { summary, passed, agent } = review;
    const request = { seq, summary, agent, failures: [], passed, force: false, isApproved: true };
    return folder.change(name, (now, moment) => completeSubtask(now, request, moment));
  }
  if (delivery.repairable === undefined) {
    await folder.change(name, (now) => unapproveReview(now, seq));
    throw notMerged(name, seq, `${delivery.text}. It still waits for review.`);
  }
  const why = `It was approved, but not merged: ${delivery.text}`;
  await folder.change(name, (now, moment) => rejectReview(now, { seq, why, commit, by: 'merge' }, moment));
  throw notMerged(name, seq, `${delivery.text}. The next run lets an agent repair it.`);
}

/** The message of the commits with a subtask's work. */
export function mergeMessage(
  { feature, terms }: Pick<LandContext, 'feature' | 'terms'>,
  { seq, title }: Subtask,
  summary: string,
): string {
  const subject = oneLine(title, 100);
  if (terms.branch === undefined) return `${feature} ${seq}: ${subject}`;
  return summary.trim() === title.trim() ? subject : `${subject}\n\n${summary.trim()}`;
}

/** Approvals that no run has acted on, since it was killed. */
export async function forgetApprovals(folder: TaskFolder, { name, subtasks }: Feature): Promise<void> {
  for (const { seq, review } of subtasks)
    if (review?.approvedAt !== undefined) await folder.change(name, (now) => unapproveReview(now, seq));
}

function notMerged(feature: string, seq: string, why: string): VolleyError {
  const message = `The work on subtask ${seq} of ${feature} was not merged: ${why}`;
  return new VolleyError('VERIFICATION_FAILED', message, { feature, seq });
}
