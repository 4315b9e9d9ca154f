import { randomBytes } from 'node:crypto';
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import type { BatchAnswer } from '../../batch/answer.ts';
import type { BatchExecutor } from '../../batch/batch-executor.ts';
import type { VolleyConfig } from '../../config/config.ts';
import type { ParallelToolCoordinator } from '../../coordinator/coordinator.ts';
import { type ErrorCode, VolleyError } from '../../core/errors.ts';
import { createLauncher } from '../../runners/process/helper-launcher.ts';
import type { Launcher } from '../../runners/process/launcher.ts';
import type { Store } from '../../store/store.ts';
import type { TaskFolder } from '../files/task-folder.ts';
import { DeniedPaths } from '../permissions/denied.ts';
import { CommandRunner } from '../verify/command-runner.ts';
import { sharedWorkspaces } from '../workspace/shared.ts';
import type { Workspaces } from '../workspace/workspace.ts';
import { gitWorktrees } from '../workspace/worktrees.ts';
import { attempt } from './attempt.ts';
import { batchNameOf } from './batch-name.ts';
import { batchTasks } from './batch-tasks.ts';
import { buildReport } from './build-report.ts';
import { openDelegations } from './delegations.ts';
import { agentEnvironment } from './environment.ts';
import { Ledger } from './ledger.ts';
import { planRun, type RunPlan } from './plan-run.ts';
import type { RunReport } from './report.ts';
import { readReport, reportWrittenAt, writeReport } from './report-file.ts';
import type { RunRequest, RunTerms } from './request.ts';
import { runOptions } from './run-options.ts';
import type { RunParts } from './run-parts.ts';
import { Safeguard } from './safeguard.ts';
import { openScratch } from './scratch.ts';
import { whileNotRun } from './while-not-run.ts';

/** What a run works with. */
export interface RunSetting {
  readonly folder: TaskFolder;
  readonly config: VolleyConfig;
  readonly executor: BatchExecutor;
  readonly store: Store;
  coordinator(): Promise<ParallelToolCoordinator>;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Starts the batch, with what `start` shall be asked besides, and waits for its end. Tells the agent of each task. */
export type StartBatch = (
  batch: string,
  terms: Readonly<Record<string, unknown>>,
  agentOf: (id: string) => string,
) => Promise<BatchAnswer>;

/**
 * Runs subtasks of a feature as a batch, one agent for each, and reports what became of them. What is wrong with the
 * request, the files or the agents is thrown before anything starts; what fails later is in the report.
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
      `An agent that works on a subtask (${env['VOLLEY_FEATURE']} ${env['VOLLEY_SUBTASK']}) cannot start others: do the work, and leave the rest to whoever started it.`,
    );
  }
  // What is unknown or unsafe is told without a lock.
  await planRun(folder, config, request, env);
  return whileNotRun(folder, request.feature, async () => {
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
  const ledger = new Ledger();
  const startedAt = Date.now();
  const isAny = selection.subtasks.length > 0;
  const strayed = isAny ? await delegateAll(setting, plan, request, ledger, start) : [];
  const report = buildReport({
    ...{ selection, ledger, startedAt, strayed },
    feature: await folder.read(name),
    worktrees: terms.worktrees,
    options: runOptions(request, config.tasks),
    moment: folder.moment(),
    taskOf: (seq) => store.task(batchNameOf(name), seq),
  });
  if (report.status !== 'nothing') await writeReport(folder, report);
  return report;
}

/**
 * Runs the batch to its end. Afterwards no agent is left, and nothing is claimed. Gives what was changed where nobody
 * should have worked.
 */
async function delegateAll(
  setting: RunSetting,
  plan: RunPlan,
  request: RunRequest,
  ledger: Ledger,
  start: StartBatch,
): Promise<readonly string[]> {
  const { folder, config, executor } = setting;
  const { agents, session, template, terms, selection } = plan;
  const feature = plan.feature.name;
  const batch = batchNameOf(feature);
  const closing: (() => Promise<void>)[] = [];
  let workspaces: Workspaces;
  try {
    const launcher = createLauncher();
    closing.push(() => launcher.close());
    launcher.prepare();
    const commands = new CommandRunner(config);
    closing.push(() => commands.close());
    const coordinator = await setting.coordinator();
    const scratch = await openScratch(join(folder.path, feature));
    closing.push(() => scratch.close());
    const working: RunParts['working'] = new Map();
    const safeguard = await Safeguard.open(folder, feature, working);
    closing.push(() => safeguard.close());
    const denied = new DeniedPaths(config, folder.project, safeguard.deniedPaths);
    workspaces = await openWorkspaces(setting, feature, denied, terms, launcher);
    const parts: RunParts = {
      folder: safeguard.folder,
      ...{
        safeguard,
        denied,
        working,
        feature,
        terms,
        agents,
        workspaces,
        launcher,
        commands,
        ledger,
        session,
        template,
      },
      id: randomBytes(3).toString('hex'),
      settings: config.tasks,
      trust: config.trust,
      env: await agentEnvironment(setting.env, scratch.folder),
      scratch: scratch.folder,
      merged: [],
      leftBefore: await leftBefore(folder, feature),
      redact: (text) => coordinator.desk.redactor.text(text),
    };
    // Nobody can guess it, so nobody but the tasks of this run can delegate.
    const run = randomBytes(16).toString('hex');
    closing.push(openDelegations(coordinator, run, (seq, context) => attempt(parts, seq, context)));
    const agentOf = (seq: string) => agents.get(seq)?.name ?? '';
    const waves = request.waves === true;
    const tasks = batchTasks(selection.subtasks, { feature, run, terms, waves, agentOf });
    checked(await executor.handle({ action: 'clear', batch }));
    checked(await executor.handle({ action: 'add_batch', batch, tasks }));
    checked(await start(batch, { max_concurrent: terms.maxConcurrent }, agentOf));
  } finally {
    await closing.reduceRight((later, close) => later.finally(close), Promise.resolve());
  }
  // The work itself does not depend on that.
  return workspaces.strayed().catch(() => []);
}

function openWorkspaces(
  { folder, config }: RunSetting,
  feature: string,
  denied: DeniedPaths,
  { worktrees }: RunTerms,
  launcher: Launcher,
): Promise<Workspaces> | Workspaces {
  const { project } = folder;
  if (!worktrees) return sharedWorkspaces(project);
  const { setup } = config.tasks;
  return gitWorktrees({ project, feature, setup, denied, launcher: () => launcher });
}

/** What failed attempts of the last run left in the project, as long as nobody has changed it since. */
async function leftBefore(folder: TaskFolder, feature: string): Promise<(seq: string) => readonly string[]> {
  const report = await readReport(folder, feature).catch(() => undefined);
  const until = reportWrittenAt(folder, feature);
  if (report === undefined || until === undefined || report.worktrees) return () => [];
  // The clock of files goes in steps: what came in the same one as the report may have come after it.
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
