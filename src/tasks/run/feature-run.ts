import { randomBytes } from 'node:crypto';
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import type { AgentUsage } from '../../agents/adapter.ts';
import { DeniedPaths } from '../../agents/denied-paths.ts';
import { agentQuota } from '../../agents/find-agent.ts';
import { sumUsage } from '../../agents/usage.ts';
import type { BatchAnswer } from '../../batch/answer.ts';
import type { BatchExecutor } from '../../batch/executor/batch-executor.ts';
import type { VolleyConfig } from '../../config/config.ts';
import type { EnvironmentVariables } from '../../config/environment.ts';
import type { ParallelToolCoordinator } from '../../coordinator/coordinator.ts';
import { type ErrorCode, VolleyError } from '../../core/errors.ts';
import { agentLabel, repositoryLabel } from '../../core/labels.ts';
import { toFailure } from '../../engine/tool-failure.ts';
import { repositoryId } from '../../git/bundle.ts';
import { Repository } from '../../git/repository.ts';
import { createLauncher } from '../../runners/process/helper-launcher.ts';
import type { Launcher } from '../../runners/process/launcher.ts';
import type { ToolContext } from '../../runners/runner.ts';
import type { TaskRecord } from '../../store/records.ts';
import type { Store } from '../../store/store.ts';
import { batchNameOf, type Subtask } from '../files/feature.ts';
import { withRunLock } from '../files/run-lock.ts';
import { requestReview } from '../files/subtask-changes.ts';
import type { TaskFolder } from '../files/task-folder.ts';
import { CommandRunner } from '../verify/command-runner.ts';
import { agentEnvironment } from '../workspace/agent-environment.ts';
import { sharedWorkspaces } from '../workspace/shared-workspace.ts';
import type { Workspaces } from '../workspace/workspace.ts';
import { gitWorktrees } from '../workspace/worktrees.ts';
import { attemptText, closeLeft, isSharedRefusal, runAttempt } from './attempt.ts';
import { batchTasks, openDelegations } from './batch-tasks.ts';
import { planRun, type RunPlan } from './plan-run.ts';
import { branchReport } from './pull-request.ts';
import { buildReport, type RunReport } from './report.ts';
import { readReport, reportWrittenAt, writeReport } from './report-file.ts';
import { forgetApprovals, landReviewed } from './review.ts';
import { ReviewQueue } from './review-queue.ts';
import { AttemptLog, type RunContext, type Tampering } from './run-context.ts';
import { type RunRequest, runOptions } from './run-request.ts';
import { openScratch } from './scratch.ts';
import { TamperGuard } from './tamper-guard.ts';

export interface RunSetting {
  readonly folder: TaskFolder;
  readonly config: VolleyConfig;
  readonly executor: BatchExecutor;
  readonly store: Store;
  coordinator(): Promise<ParallelToolCoordinator>;
  readonly env: EnvironmentVariables;
}

/** What a display shows of a run besides its batch. */
export interface RunProgress {
  /** The agent of the current attempt at a subtask. */
  agentOf(seq: string): string;
  /** After a failure, the number of the attempt and why the last one failed; otherwise empty. */
  attemptOf(seq: string): string;
  /** What all attempts so far used, as far as agents report it. */
  usage(): AgentUsage;
  /** The subtasks that wait, and why: `04, 05 for 02`. Those that someone must review come first. */
  waiting(): readonly string[];
  /** Whether its work waits for review, so that no agent is at it. */
  isInReview(seq: string): boolean;
}

/** Starts the batch with additional parameters for `start`, and waits until it ends. */
type StartBatch = (
  batch: string,
  terms: Readonly<Record<string, unknown>>,
  progress: RunProgress,
) => Promise<BatchAnswer>;

/**
 * Runs subtasks of a feature as a batch, one agent for each. Throws if the request, the files or the agents are invalid,
 * before anything starts; later failures are in the report.
 */
export async function runFeature(
  setting: RunSetting,
  request: RunRequest,
  start: StartBatch = (batch, terms) =>
    setting.executor.handle({ action: 'start', batch, wait: true, ...terms }),
): Promise<RunReport> {
  const { folder, config, env } = setting;
  if (env['VOLLEY_SUBTASK']) {
    throw new VolleyError(
      'SUBTASK_REFUSED',
      `An agent that works on a subtask (${env['VOLLEY_FEATURE']} ${env['VOLLEY_SUBTASK']}) cannot start other agents.`,
    );
  }
  // Reports problems without taking the lock.
  await planRun(folder, config, request, env);
  return withRunLock(folder, request.feature, async () => {
    const plan = await planRun(folder, config, request, env);
    return runPlan(setting, plan, request, start);
  });
}

async function runPlan(
  setting: RunSetting,
  plan: RunPlan,
  request: RunRequest,
  start: StartBatch,
): Promise<RunReport> {
  const { folder, config, store } = setting;
  const { selection, terms } = plan;
  const { name } = plan.feature;
  const attempts = new AttemptLog();
  const startedAt = Date.now();
  const before = await readReport(folder, name).catch(() => undefined);
  const isAny = selection.subtasks.length > 0;
  const { projectChanges, tampering } = isAny
    ? await delegateAll(setting, plan, request, { attempts, before, start })
    : { projectChanges: [], tampering: [] };
  const tasks = new Map<string, TaskRecord | undefined>();
  for (const { seq } of selection.subtasks) tasks.set(seq, await store.task(batchNameOf(name), seq));
  const report = buildReport({
    ...{ selection, attempts, startedAt, projectChanges, tampering, before },
    feature: await folder.read(name),
    worktrees: terms.worktrees,
    branch: terms.branch === undefined ? undefined : await branchReport(folder.project, terms.branch),
    options: runOptions(request, config.tasks),
    moment: folder.moment(),
    taskOf: (seq) => tasks.get(seq),
  });
  if (report.status !== 'nothing') await writeReport(folder, report);
  return report;
}

/** What changed besides the work of the agents. */
interface Incidents {
  /** Changes in the project itself while agents worked in worktrees. */
  readonly projectChanges: readonly string[];
  readonly tampering: readonly Tampering[];
}

/** Runs the batch. Afterwards no agent is running and nothing is claimed. */
async function delegateAll(
  setting: RunSetting,
  plan: RunPlan,
  request: RunRequest,
  run: { readonly attempts: AttemptLog; readonly before: RunReport | undefined; readonly start: StartBatch },
): Promise<Incidents> {
  const { attempts, before, start } = run;
  const { folder, config, executor } = setting;
  const { agents, session, template, terms, selection } = plan;
  const feature = plan.feature.name;
  const batch = batchNameOf(feature);
  const closing: (() => Promise<void>)[] = [];
  let workspaces: Workspaces;
  let tampering: readonly Tampering[] = [];
  const lastAttempts = new Map(before?.history.attempts.map(({ seq, attempt }) => [seq, attempt]));
  try {
    const launcher = createLauncher();
    closing.push(() => launcher.close());
    launcher.prepare();
    const commands = new CommandRunner(config);
    closing.push(() => commands.close());
    const coordinator = await setting.coordinator();
    if (terms.workers && !coordinator.hasWorkers)
      throw new VolleyError(
        'INVALID_VALUE',
        'The agents are to run on workers, but there is no cluster. Set cluster.url in volley.toml, or use --on URL.',
      );
    const ownClone = terms.workers ? await ownRepository(folder.project) : undefined;
    const scratch = await openScratch(join(folder.path, feature));
    closing.push(() => scratch.close());
    const working: RunContext['working'] = new Map();
    await forgetApprovals(folder, plan.feature);
    const repository = terms.worktrees ? await Repository.open(folder.project, terms.branch) : undefined;
    const tamperGuard = await TamperGuard.open(folder, feature, working, repository);
    closing.push(() => tamperGuard.close());
    tampering = tamperGuard.tamperings;
    const denied = new DeniedPaths(config, folder.project, tamperGuard.deniedPaths);
    workspaces = await openWorkspaces(setting, feature, denied, repository, launcher);
    const reviews = terms.review ? openReviews(setting, plan, () => parts) : undefined;
    if (reviews !== undefined) closing.push(() => reviews.close());
    const parts: RunContext = {
      folder: tamperGuard.folder,
      reviews,
      ...{
        tamperGuard,
        denied,
        working,
        feature,
        terms,
        agents,
        workspaces,
        launcher,
        commands,
        attempts,
        session,
        template,
      },
      id: randomBytes(3).toString('hex'),
      settings: config.tasks,
      trust: config.trust,
      env: await agentEnvironment(setting.env, scratch.folder),
      repository: ownClone,
      scratch: scratch.folder,
      merged: [],
      left: new Map(),
      lastAttempt: (seq) => lastAttempts.get(seq) ?? 0,
      pathsFromLastRun: pathsFromLastRun(folder, before),
      redact: (text) => coordinator.redactor.text(text),
    };
    closing.push(async () => {
      for (const seq of [...parts.left.keys()]) await closeLeft(parts, seq);
    });
    // Unguessable, so that only the tasks of this run can delegate.
    const secret = randomBytes(16).toString('hex');
    const ends: SubtaskEnds = { completed: new Set(), failed: new Set() };
    const attempt = async (seq: string, context: ToolContext) => {
      const isPermanent = (error: unknown) => toFailure(error).isPermanent;
      const work = () => runAttempt(parts, seq, context);
      try {
        const result = await (reviews?.during(seq, work, (error) => !isPermanent(error)) ?? work());
        if (attempts.of(seq).at(-1)?.isLeftInReview !== true) ends.completed.add(seq);
        return result;
      } catch (error) {
        if (isPermanent(error) && !isSharedRefusal(error)) ends.failed.add(seq);
        throw error;
      }
    };
    const quotasOf = (seq: string) => plan.agents.get(seq)!.map(agentQuota);
    const placeOf = (seq: string) =>
      ownClone && {
        ...Object.fromEntries(plan.agents.get(seq)!.map(({ name }) => [agentLabel(name), true])),
        [repositoryLabel(ownClone.repository)]: true,
      };
    closing.push(openDelegations(coordinator, secret, { attempt, quotasOf, placeOf }));
    const progress = progressOf(parts, selection.subtasks, ends);
    const waves = request.waves === true;
    const tasks = batchTasks(selection.subtasks, {
      feature,
      run: secret,
      terms,
      waves,
      agentOf: progress.agentOf,
    });
    checked(await executor.handle({ action: 'clear', batch }));
    checked(await executor.handle({ action: 'add_batch', batch, tasks }));
    checked(await start(batch, { max_concurrent: reviews?.maxAttempts ?? terms.maxConcurrent }, progress));
  } finally {
    await closing.reduceRight((later, close) => later.finally(close), Promise.resolve());
  }
  // Informative only.
  return { projectChanges: await workspaces.changedInProject().catch(() => []), tampering };
}

/** The queue of verified work that waits for review. It is used only when the run has its context. */
function openReviews(
  { executor }: RunSetting,
  { feature, terms }: RunPlan,
  run: () => RunContext,
): ReviewQueue {
  const batch = batchNameOf(feature.name);
  const never = new AbortController().signal;
  const others = feature.subtasks.filter(({ review }) => review !== undefined).length;
  return new ReviewQueue(
    {
      read: () => run().folder.read(feature.name),
      request: async (seq, work) => {
        await run().folder.change(feature.name, (now) => requestReview(now, seq, work));
      },
      terms,
      limit: (max) => executor.limitConcurrency(batch, max),
      stop: async () => {
        await executor.handle({ action: 'stop', batch });
      },
      isStopping: async () => (await executor.standing(batch))?.state === 'stopping',
      // The reviewer learns why it was not merged.
      land: (subtask) =>
        landReviewed(run(), subtask, never).then(
          () => void run().merged.push(subtask),
          () => undefined,
        ),
    },
    others,
  );
}

/** The repository as workers know it, and the path of the project in it. */
async function ownRepository(project: string): Promise<NonNullable<RunContext['repository']>> {
  const { git, prefix } = await Repository.find(project);
  return { repository: await repositoryId(git), prefix };
}

const MAX_SEQS = 4;

/** The subtasks of a run that have ended. */
interface SubtaskEnds {
  readonly completed: Set<string>;
  readonly failed: Set<string>;
}

function progressOf(
  { agents, attempts, working, reviews }: RunContext,
  subtasks: readonly Subtask[],
  { completed, failed }: SubtaskEnds,
): RunProgress {
  const members = new Set(subtasks.map(({ seq }) => seq));
  const isInReview = (seq: string) => reviews?.isWaiting(seq) === true;
  const whyWaiting = ({ seq, dependsOn, parallel }: Subtask): string => {
    if (isInReview(seq)) return 'for review';
    const open = dependsOn.filter((one) => members.has(one) && !completed.has(one));
    if (open.length > 0) return `for ${open.join(', ')}`;
    const last = attempts.of(seq).at(-1);
    if (last?.isRefused) return `for ${last.agent}`;
    const again = last === undefined ? '' : 'to be tried again ';
    const alone = [...working.values()].find(({ subtask }) => !subtask.parallel);
    if (alone !== undefined) return `${again}for ${alone.subtask.seq}, which runs alone`;
    if (!parallel) return again === '' ? 'to run alone' : `${again}alone`;
    return `${again}for ${reviews?.isFull === true ? 'reviews' : 'an agent'}`;
  };
  return {
    agentOf: (seq) => attempts.of(seq).at(-1)?.agent ?? agents.get(seq)?.[0]?.name ?? '',
    attemptOf: (seq) => (attempts.of(seq).length < 2 ? '' : attemptText(attempts.of(seq))),
    usage: () => sumUsage(subtasks.flatMap(({ seq }) => attempts.of(seq).map(({ usage }) => usage))),
    isInReview,
    waiting: () => {
      const open = subtasks.filter(({ seq }) => !completed.has(seq) && !failed.has(seq) && !working.has(seq));
      const later = open.filter(({ seq }) => !isInReview(seq));
      const reasons = new Map<string, string[]>();
      for (const subtask of [...open.filter(({ seq }) => isInReview(seq)), ...later]) {
        const why = whyWaiting(subtask);
        reasons.set(why, [...(reasons.get(why) ?? []), subtask.seq]);
      }
      return Array.from(reasons, ([why, seqs]) => `${someSeqs(seqs)} ${why}`);
    },
  };
}

/** `01, 02, 03`, or `01, 02 and 7 more`. */
function someSeqs(seqs: readonly string[]): string {
  if (seqs.length <= MAX_SEQS) return seqs.join(', ');
  const shown = seqs.slice(0, MAX_SEQS - 1);
  return `${shown.join(', ')} and ${seqs.length - shown.length} more`;
}

function openWorkspaces(
  { folder, config }: RunSetting,
  feature: string,
  denied: DeniedPaths,
  repository: Repository | undefined,
  launcher: Launcher,
): Promise<Workspaces> | Workspaces {
  const { project } = folder;
  if (repository === undefined) return sharedWorkspaces(project);
  const { setup } = config.tasks;
  return gitWorktrees({ repository, project, feature, setup, denied, launcher: () => launcher });
}

/** What attempts of the last run left in the project and nobody has changed since. */
function pathsFromLastRun(
  folder: TaskFolder,
  report: RunReport | undefined,
): (seq: string) => readonly string[] {
  const until = report && reportWrittenAt(folder, report.feature);
  if (report === undefined || until === undefined || report.worktrees) return () => [];
  // File times are coarse: a change at the report's own time may have come after it.
  const isAsItWas = (path: string) => {
    const stats = lstatSync(join(folder.project, path), { throwIfNoEntry: false });
    return stats !== undefined && stats.ctimeMs < until;
  };
  const left = new Map(report.subtasks.map(({ seq, touched }) => [seq, touched]));
  return (seq) => (left.get(seq) ?? []).filter(isAsItWas);
}

function checked({ ok, error, text, data }: BatchAnswer): void {
  if (ok) return;
  throw new VolleyError((error?.code as ErrorCode | undefined) ?? 'INTERNAL', error?.message ?? text, data);
}
