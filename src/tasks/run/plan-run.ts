import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { DeniedPaths } from '../../agents/denied-paths.ts';
import type { VolleyConfig } from '../../config/config.ts';
import type { EnvironmentVariables } from '../../config/environment.ts';
import { notTrusted } from '../../config/trust.ts';
import { VolleyError } from '../../core/errors.ts';
import { listText } from '../../core/words.ts';
import { fileFailure } from '../../tools/builtin/refusal.ts';
import type { Feature, Subtask } from '../files/feature.ts';
import type { TaskFolder } from '../files/task-folder.ts';
import { requireTrusted } from '../verify/trust.ts';
import { type AgentPlan, chooseAgents, requirePrograms } from './choose-agents.ts';
import { buildPrompt } from './prompt.ts';
import { type RunRequest, type RunTerms, runTermsOf } from './run-request.ts';
import { type Selection, selectSubtasks } from './selection.ts';

/** A run that passed all checks. */
export interface RunPlan {
  readonly feature: Feature;
  readonly selection: Selection;
  readonly agents: AgentPlan;
  readonly terms: RunTerms;
  readonly session: string | undefined;
  readonly template: string | undefined;
}

/** Checks everything that can be checked before a run. Changes nothing. */
export async function planRun(
  folder: TaskFolder,
  config: VolleyConfig,
  request: RunRequest,
  env: EnvironmentVariables,
): Promise<RunPlan> {
  const { tasks: settings, trust } = config;
  // Settings that wait for approval would make it a different run.
  const waiting = trust.waiting.filter((setting) => setting.startsWith('tasks.'));
  if (waiting.length > 0) throw notTrusted('Nothing was started:', trust, waiting);
  const feature = await folder.read(request.feature);
  requireTrusted(folder, feature, env);
  const selection = selectSubtasks(feature, request, folder.moment());
  const agents = chooseAgents(selection.subtasks, request, settings);
  const denied = new DeniedPaths(config, folder.project);
  for (const subtask of selection.subtasks) checkDeliverables(feature, subtask, denied);
  const template = settings.promptFile === undefined ? undefined : await readText(settings.promptFile);
  // Finds a bad template before an agent starts.
  const [first] = selection.subtasks;
  if (first !== undefined) buildPrompt(first, feature, { batchMates: [], template });
  const session = request.session === undefined ? undefined : resolve(folder.project, request.session);
  if (session !== undefined) await readable(session);
  const terms = runTermsOf(request, settings);
  if (terms.review && selection.subtasks.length > 0) requireReviewed(feature, terms);
  if (!terms.workers) requirePrograms(agents, { project: folder.project, env, worktrees: terms.worktrees });
  return { feature, selection, agents, terms, session, template };
}

/** Agents do not run far ahead of the reviewer. */
function requireReviewed({ name, subtasks }: Feature, { maxUnreviewed }: RunTerms): void {
  const open = subtasks.filter(({ review }) => review !== undefined).map(({ seq }) => seq);
  if (open.length < maxUnreviewed) return;
  const what = open.length === 1 ? '1 subtask waits' : `${open.length} subtasks wait`;
  throw new VolleyError(
    'SUBTASK_REFUSED',
    `Nothing was started: ${what} for review (${listText(open)}), and at most ${maxUnreviewed} may. Approve or reject some first.`,
    { feature: name, open },
  );
}

/** Refuses deliverables that no agent may touch. */
function checkDeliverables(
  { name }: Feature,
  { seq, file, deliverables }: Subtask,
  denied: DeniedPaths,
): void {
  const plain = deliverables.map((one) => one.replace(/\/$/, ''));
  const [refused] = denied.among(plain);
  if (refused === undefined) return;
  throw new VolleyError(
    'INVALID_FEATURE',
    `Subtask ${seq} lists the deliverable ${refused}, which no agent may touch. Remove it from ${name}/${file}, or ${denied.remedyFor([refused])}.`,
    { feature: name, seq, path: refused },
  );
}

async function readText(path: string): Promise<string> {
  await readable(path);
  return readFile(path, 'utf8');
}

async function readable(path: string): Promise<void> {
  try {
    const stats = await stat(path);
    if (!stats.isFile()) throw new Error(`${path} is not a file`);
  } catch (error) {
    throw new VolleyError(
      'INVALID_VALUE',
      fileFailure('read', path, error).message,
      { path },
      { cause: error },
    );
  }
}
