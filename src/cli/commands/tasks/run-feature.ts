import { usageText } from '../../../agents/usage.ts';
import { countText } from '../../../core/words.ts';
import { shortTitle } from '../../../tasks/files/feature-text.ts';
import type { TaskFolder } from '../../../tasks/files/task-folder.ts';
import { planWaves } from '../../../tasks/plan/subtask-graph.ts';
import { type RunProgress, runFeature } from '../../../tasks/run/feature-run.ts';
import { planRun, type RunPlan } from '../../../tasks/run/plan-run.ts';
import type { RunReport } from '../../../tasks/run/report.ts';
import { reportText } from '../../../tasks/run/report-text.ts';
import type { RunRequest } from '../../../tasks/run/run-request.ts';
import type { ExitStatus, Io } from '../../output/io.ts';
import type { CommonOptions } from '../../program/command.ts';
import { withWorkers } from '../../session/cluster.ts';
import { runInForeground } from '../../session/foreground.ts';
import { type Session, withOwnStore, withSession } from '../../session/session.ts';
import { say } from './support.ts';

interface RunInViewOptions extends CommonOptions {
  /** The Redis server of a cluster. */
  readonly on?: string;
}

interface ViewedRun {
  readonly report: RunReport;
  readonly text: string;
  readonly wasInterrupted: boolean;
}

/** Runs a feature with a live display. */
export function runInView(
  folder: TaskFolder,
  request: RunRequest,
  options: RunInViewOptions,
  io: Io,
): Promise<ViewedRun> {
  return withOwnStore(options, io, (session) => {
    const usesWorkers = request.workers ?? session.config.tasks.workers;
    const work = (place: Session) => viewedRun(folder, request, options, io, place);
    return usesWorkers ? withWorkers(session, options.on, io, work) : work(session);
  });
}

async function viewedRun(
  folder: TaskFolder,
  request: RunRequest,
  options: CommonOptions,
  io: Io,
  session: Session,
): Promise<ViewedRun> {
  const { config, coordinator, executor, store } = session;
  // The agents belong to this process, even if a server is running.
  const here = { ...session, handle: (asked: object) => executor.handle(asked) };
  let wasInterrupted = false;
  const report = await runFeature(
    { folder, config, coordinator, executor, store, env: io.env },
    request,
    async (batch, start, progress) => {
      const quiet = options.json === true;
      const labelOf = ({
        id,
        name,
        step,
      }: {
        readonly id: string;
        name: string;
        step?: string | undefined;
      }) => {
        const note = progress.attemptOf(id);
        const own = step?.startsWith(`${note}: `) ? step.slice(`${note}: `.length) : step;
        return {
          name: `${id} ${name}`,
          function: progress.agentOf(id),
          ...(step !== undefined && { step: own }),
          ...(note !== '' && { note }),
        };
      };
      const isIdle = ({ id }: { readonly id: string }) => progress.isInReview(id);
      const end = await runInForeground(
        here,
        { batch, start, verbose: true, quiet, labelOf, detail: () => detailOf(progress), isIdle },
        io,
      );
      wasInterrupted = end.wasInterrupted;
      // Separates the report from the display.
      if (!quiet) io.stderr.write('\n');
      return end.answer;
    },
  );
  return { report, text: reportText(report), wasInterrupted };
}

function detailOf(progress: RunProgress): { facts: readonly string[]; waiting: readonly string[] } {
  const used = usageText(progress.usage());
  return { facts: used === '' ? [] : [used], waiting: progress.waiting() };
}

/** Shows what a run would do, without starting it. */
export function dryRunFeature(
  folder: TaskFolder,
  request: RunRequest,
  options: CommonOptions,
  io: Io,
): Promise<ExitStatus> {
  return withSession(options, io, async ({ config }) => {
    const plan = await planRun(folder, config, request, io.env);
    const waves = planWaves(plan.selection.subtasks).map((wave) => wave.map(({ seq }) => seq));
    const data = {
      feature: plan.feature.name,
      max_concurrent: plan.terms.maxConcurrent,
      worktrees: plan.terms.worktrees,
      waves,
      subtasks: plan.selection.subtasks.map(({ seq, title, dependsOn, parallel }) => ({
        seq,
        title,
        agent: plan.agents.get(seq)![0]!.name,
        adapter: plan.agents.get(seq)![0]!.adapter.name,
        agents: plan.agents.get(seq)!.map(({ name }) => name),
        depends_on: dependsOn,
        parallel,
      })),
      done_before: plan.selection.done.map(({ seq }) => seq),
      left_out: plan.selection.leftOut,
    };
    return say(io, options, data, planText(plan));
  });
}

function planText({ feature, selection, agents, terms }: RunPlan): string {
  const { subtasks, done, leftOut } = selection;
  const where = terms.worktrees ? 'each in its own worktree' : 'in the project';
  const lines = [
    `[${feature.name}] ${countText(subtasks.length, 'subtask')}, at most ${countText(terms.maxConcurrent, 'agent')} at once, ${where}`,
    ...subtasks.map(({ seq, title, dependsOn, parallel }) => {
      const after = dependsOn.length === 0 ? '' : `, after ${dependsOn.join(', ')}`;
      return `  ○ ${seq} - ${shortTitle(title)} (${agents
        .get(seq)!
        .map(({ name }) => name)
        .join(', then ')}${after}${parallel ? '' : ', runs alone'})`;
    }),
  ];
  if (done.length > 0) lines.push(`  Already completed: ${done.map(({ seq }) => seq).join(', ')}`);
  for (const { seq, why } of leftOut) lines.push(`  Not run: ${seq} (${why})`);
  return lines.join('\n');
}
