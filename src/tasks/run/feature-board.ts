import type { RunningTask } from '../../batch/run/monitor.ts';
import type { Check, Feature } from '../files/feature.ts';
import { featureView } from '../files/feature-text.ts';
import { type Moment, readySubtasks } from '../files/readiness.ts';
import type { RunReport, SubtaskReport } from './report.ts';
import { transcribedAttempts } from './transcript.ts';

/** The column of a subtask. `ready`: it can start now. `review`: a person decides about its work. `failed`: its last attempts failed, and nobody works on it. */
export const BOARD_STATES = [
  'waiting',
  'ready',
  'running',
  'review',
  'failed',
  'blocked',
  'completed',
] as const;

type BoardState = (typeof BOARD_STATES)[number];

interface BoardSources {
  readonly moment: Moment;
  readonly project: string;
  /** Of the last run, if there was one. */
  readonly report: RunReport | undefined;
  /** What runs now, by the number of the subtask. */
  readonly running: ReadonlyMap<string, RunningTask>;
  /** Why subtasks have failed in the run that goes on. */
  readonly failed: ReadonlyMap<string, string>;
}

/** All about a feature that a person decides by: its subtasks, how they stand, and what their agents have shown. */
export function featureBoard(feature: Feature, { moment, project, report, running, failed }: BoardSources) {
  const view = featureView(feature, moment);
  const ready = new Set(readySubtasks(feature, moment).map(({ seq }) => seq));
  const results = new Map<string, SubtaskReport>();
  for (const one of [...(report?.history.earlier ?? []), ...(report?.subtasks ?? [])])
    results.set(one.seq, one);
  const usageOf = report?.history.usage.by_subtask ?? {};
  return {
    ...view,
    objective: feature.task?.objective ?? null,
    exit_criteria: feature.task?.exitCriteria ?? [],
    /** Of all runs that have ended. */
    usage: report?.history.usage.total ?? {},
    subtasks: feature.subtasks.map((subtask, index) => {
      const { seq } = subtask;
      const shown = view.subtasks[index]!;
      const task = running.get(seq);
      const result = results.get(seq);
      const state: BoardState =
        shown.effective_status === 'completed'
          ? 'completed'
          : shown.review !== null
            ? 'review'
            : task !== undefined || shown.effective_status === 'in_progress'
              ? 'running'
              : shown.effective_status === 'blocked'
                ? 'blocked'
                : failed.has(seq) || result?.status === 'failed'
                  ? 'failed'
                  : ready.has(seq)
                    ? 'ready'
                    : 'waiting';
      return {
        ...shown,
        state,
        description: subtask.description ?? null,
        acceptance_criteria: subtask.acceptanceCriteria,
        checks: subtask.verification.map(checkText),
        step: task?.step ?? null,
        /** Where its agent runs, or has run last, if that is a worker of the cluster. */
        worker: task?.worker ?? result?.attempt_reports.at(-1)?.worker ?? null,
        error: state === 'failed' ? (failed.get(seq) ?? result?.error ?? null) : null,
        /** The attempts of which there is a transcript. */
        attempts: transcribedAttempts(project, feature.name, seq),
        /** Of all runs that have ended. */
        usage: usageOf[seq] ?? {},
        result: result === undefined ? null : resultOf(result),
      };
    }),
  };
}

function resultOf(result: SubtaskReport) {
  const { status, agent, reason, error, skipped_because, verified, evidence, word, discrepancy } = result;
  const { touched, outside_deliverables, denied, conflicts, branch, kept, attempts, duration_ms } = result;
  return {
    ...{ status, agent, reason, error, skipped_because, verified, evidence, word, discrepancy },
    ...{ touched, outside_deliverables, denied, conflicts, branch, kept, attempts, duration_ms },
  };
}

function checkText(check: Check): string {
  switch (check.type) {
    case 'command':
      return `$ ${check.command}`;
    case 'file_exists':
      return `${check.path} exists`;
    default:
      return `${check.path} contains ${JSON.stringify(check.text)}`;
  }
}
