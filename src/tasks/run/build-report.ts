import { shellQuote } from '../../core/shell-quote.ts';
import type { TaskRecord } from '../../store/records.ts';
import { type Feature, progressOf, type Subtask, titleOf } from '../feature.ts';
import { safeTogether, wavesOf } from '../graph/waves.ts';
import { type Moment, timeText } from '../state/moment.ts';
import { readySubtasks } from '../state/readiness.ts';
import type { Ledger } from './ledger.ts';
import type { RunReport, SubtaskReport } from './report.ts';
import type { Selection } from './selection.ts';
import { sumUsage } from './usage.ts';

export interface RunFacts {
  /** As it is after the run. */
  readonly feature: Feature;
  readonly selection: Selection;
  readonly ledger: Ledger;
  readonly worktrees: boolean;
  readonly options: readonly string[];
  readonly startedAt: number;
  /** What was changed in the project itself while agents worked in worktrees. */
  readonly strayed: readonly string[];
  readonly moment: Moment;
  /** How the task of a subtask ended; undefined where it was cleared. */
  taskOf(seq: string): TaskRecord | undefined;
}

/** So many paths of each kind are kept. */
const MAX_PATHS = 200;

export function buildReport(facts: RunFacts): RunReport {
  const { feature, selection, startedAt, moment } = facts;
  const subtasks = selection.subtasks.map((subtask) => subtaskReport(facts, subtask));
  const count = (status: SubtaskReport['status']) => subtasks.filter((one) => one.status === status).length;
  const [completed, failed] = [count('completed'), count('failed')];
  return {
    feature: feature.name,
    name: titleOf(feature),
    status: statusOf(subtasks.length, completed, failed),
    batch: selection.batch ?? null,
    explicit: selection.isExplicit,
    worktrees: facts.worktrees,
    options: facts.options,
    started_at: timeText(startedAt),
    ended_at: timeText(moment.now),
    duration_ms: moment.now - startedAt,
    subtasks,
    done_before: selection.done.map(({ seq }) => seq),
    left_out: selection.leftOut,
    changed_in_project: facts.strayed.slice(0, MAX_PATHS),
    statistics: {
      total: subtasks.length,
      completed,
      failed,
      skipped: count('skipped'),
      left: count('left'),
      success_rate: subtasks.length === 0 ? 100 : Math.floor((100 * completed) / subtasks.length),
      attempts: sum(subtasks.map(({ attempts }) => attempts)),
      work_ms: sum(subtasks.map(({ duration_ms }) => duration_ms)),
      usage: sumUsage(subtasks.map(({ usage }) => usage)),
    },
    next: nextOf(feature, moment, facts.options),
  };
}

function statusOf(total: number, completed: number, failed: number): RunReport['status'] {
  if (total === 0) return 'nothing';
  if (completed === total) return 'completed';
  if (failed === 0) return 'stopped';
  return completed === 0 ? 'failed' : 'partial';
}

function subtaskReport(
  { feature, ledger, taskOf }: RunFacts,
  { seq, title, deliverables }: Subtask,
): SubtaskReport {
  const now = feature.subtasks.find((one) => one.seq === seq);
  const attempts = ledger.of(seq);
  const last = attempts.at(-1);
  const task = taskOf(seq);
  const status = reportedStatus(now, task);
  const isFailed = status === 'failed';
  return {
    seq,
    title,
    status,
    agent: last?.agent ?? null,
    reason: isFailed ? (task?.reason ?? 'error') : null,
    error: status === 'completed' ? null : (task?.message ?? last?.error ?? null),
    skipped_because: status === 'skipped' ? (task?.cause ?? null) : null,
    summary: status === 'completed' ? (now?.completionSummary ?? null) : null,
    deliverables,
    verified: status === 'completed' && (last?.evidence.length ?? 0) > 0,
    evidence: last?.evidence ?? [],
    word: last?.word ?? null,
    discrepancy: last?.discrepancy ?? null,
    touched: (last?.touched ?? []).slice(0, MAX_PATHS),
    outside_deliverables: (last?.outside ?? []).slice(0, MAX_PATHS),
    denied: (last?.denied ?? []).slice(0, MAX_PATHS),
    conflicts: (last?.conflicts ?? []).slice(0, MAX_PATHS),
    branch: last?.branch ?? null,
    kept: last?.kept ?? null,
    attempts: attempts.length,
    duration_ms: sum(attempts.map(({ startedAt, endedAt }) => endedAt - startedAt)),
    usage: sumUsage(attempts.map(({ usage }) => usage)),
  };
}

/** What counts are the files; how the task ended says why it is not done. */
function reportedStatus(now: Subtask | undefined, task: TaskRecord | undefined): SubtaskReport['status'] {
  if (now?.status === 'completed') return 'completed';
  if (task?.status === 'failed' || task?.status === 'completed') return 'failed';
  return task?.status === 'skipped' ? 'skipped' : 'left';
}

function nextOf(feature: Feature, moment: Moment, options: readonly string[]): RunReport['next'] {
  const { done, total } = progressOf(feature);
  const ready = safeTogether(readySubtasks(feature, moment));
  const place = wavesOf(feature.subtasks).findIndex((wave) => wave.some(({ seq }) => seq === ready[0]?.seq));
  const dependsOn = new Set(ready.flatMap((one) => one.dependsOn));
  const isDone = done === total;
  return {
    feature_completed: isDone,
    ready: ready.map(({ seq }) => seq),
    batch: ready.length > 0 && place >= 0 ? place + 1 : null,
    depends_on: [...dependsOn].sort(),
    command: isDone
      ? `volley tasks archive ${shellQuote(feature.name)}`
      : ready.length > 0
        ? ['volley tasks run', shellQuote(feature.name), ...options].join(' ')
        : null,
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
