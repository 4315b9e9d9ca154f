import type { AgentUsage } from '../../agents/adapter.ts';
import { sumUsage } from '../../agents/usage.ts';
import { shellQuote } from '../../core/shell-quote.ts';
import type { TaskRecord } from '../../store/records.ts';
import { type Feature, progressOf, type Subtask, titleOf } from '../files/feature.ts';
import { isoTime, type Moment, readySubtasks } from '../files/readiness.ts';
import { planWaves, selectConcurrent } from '../plan/subtask-graph.ts';
import {
  type AttemptReport,
  attemptReport,
  extendHistory,
  type FeatureHistory,
  NO_HISTORY,
} from './history.ts';
import type { AttemptLog, Tampering } from './run-context.ts';
import type { Selection } from './selection.ts';

/** The outcome of a subtask in a run. */
export interface SubtaskReport {
  readonly seq: string;
  readonly title: string;
  /**
   * `review` means that its verified work waits until someone approves it; `left` that it was not started or was
   * interrupted, and the next run continues with it.
   */
  readonly status: 'completed' | 'review' | 'failed' | 'skipped' | 'left';
  readonly agent: string | null;
  /** Why it failed: `error`, `timeout`, `stalled`, `crashed`, `budget`. */
  readonly reason: string | null;
  readonly error: string | null;
  /** The failed subtask that it depends on. */
  readonly skipped_because: string | null;
  readonly summary: string | null;
  readonly deliverables: readonly string[];
  /** Whether it has deliverables or checks, and all were met. */
  readonly verified: boolean;
  readonly evidence: readonly { readonly subject: string; readonly ok: boolean; readonly text: string }[];
  /** The agent's final message. Informative only. */
  readonly word: string | null;
  readonly discrepancy: string | null;
  readonly touched: readonly string[];
  readonly outside_deliverables: readonly string[];
  readonly denied: readonly string[];
  readonly conflicts: readonly string[];
  readonly branch: string | null;
  /** The path of work that was not merged. */
  readonly kept: string | null;
  readonly attempts: number;
  /** Each attempt of this run, with the path of its transcript. */
  readonly attempt_reports: readonly AttemptReport[];
  /** What was missing when it was completed with `--force`. */
  readonly forced: readonly string[] | null;
  readonly duration_ms: number;
  readonly usage: AgentUsage;
}

/** A branch with a commit for each subtask. */
export interface BranchReport {
  readonly name: string;
  /** What the checked-out branch does not have, oldest first. */
  readonly commits: readonly { readonly commit: string; readonly subject: string }[];
}

/** The report of a run, as stored next to the task files. */
export interface RunReport {
  readonly feature: string;
  readonly name: string;
  /** `review` means that nothing failed, and the rest waits for review. */
  readonly status: 'completed' | 'review' | 'partial' | 'failed' | 'stopped' | 'nothing';
  /** The number of the batch, if one was requested. */
  readonly batch: number | null;
  readonly explicit: boolean;
  readonly worktrees: boolean;
  /** The branch that got the work, if it is not the one that is checked out. */
  readonly branch: BranchReport | null;
  /** The command line options that repeat the run for other subtasks. */
  readonly options: readonly string[];
  readonly started_at: string;
  readonly ended_at: string;
  readonly duration_ms: number;
  readonly subtasks: readonly SubtaskReport[];
  /** Requested subtasks that were already completed. */
  readonly done_before: readonly string[];
  /** Open subtasks that could not run. */
  readonly left_out: readonly { readonly seq: string; readonly why: string }[];
  /** New uncommitted changes in the project itself while agents worked in worktrees. */
  readonly changed_in_project: readonly string[];
  /** Protected files that were changed. They were restored, except as the problems say. */
  readonly tampering: readonly Tampering[];
  /** All runs, including this one. */
  readonly history: FeatureHistory;
  readonly statistics: {
    readonly total: number;
    readonly completed: number;
    readonly failed: number;
    readonly skipped: number;
    readonly left: number;
    readonly review: number;
    /** In percent. */
    readonly success_rate: number;
    readonly attempts: number;
    /** The total time of all agents. */
    readonly work_ms: number;
    readonly usage: AgentUsage;
  };
  readonly next: {
    readonly feature_completed: boolean;
    /** Subtasks that can start now, all at once. */
    readonly ready: readonly string[];
    readonly batch: number | null;
    readonly depends_on: readonly string[];
    /** The next command. */
    readonly command: string | null;
  };
}

interface RunFacts {
  /** The feature after the run. */
  readonly feature: Feature;
  readonly selection: Selection;
  readonly attempts: AttemptLog;
  readonly worktrees: boolean;
  readonly branch: BranchReport | undefined;
  readonly options: readonly string[];
  readonly startedAt: number;
  /** Changes in the project itself while agents worked in worktrees. */
  readonly projectChanges: readonly string[];
  readonly tampering: readonly Tampering[];
  /** The report of the run before. */
  readonly before: RunReport | undefined;
  readonly moment: Moment;
  /** The batch task of a subtask; undefined if it was cleared. */
  taskOf(seq: string): TaskRecord | undefined;
}

const MAX_PATHS = 200;

export function buildReport(facts: RunFacts): RunReport {
  const { feature, selection, startedAt, moment } = facts;
  const subtasks = selection.subtasks.map((subtask) => subtaskReport(facts, subtask));
  const count = (status: SubtaskReport['status']) => subtasks.filter((one) => one.status === status).length;
  const [completed, failed] = [count('completed'), count('failed')];
  const review = count('review');
  const status = statusOf(subtasks.length, completed, failed, review);
  const [started_at, ended_at] = [isoTime(startedAt), isoTime(moment.now)];
  const usage = sumUsage(subtasks.map((one) => one.usage));
  const seqsOf = (status: SubtaskReport['status']) =>
    subtasks.filter((one) => one.status === status).map(({ seq }) => seq);
  const summary = {
    started_at,
    ended_at,
    status,
    completed: seqsOf('completed'),
    failed: seqsOf('failed'),
    usage,
  };
  return {
    feature: feature.name,
    name: titleOf(feature),
    status,
    batch: selection.batch ?? null,
    explicit: selection.isExplicit,
    worktrees: facts.worktrees,
    branch: facts.branch ?? null,
    options: facts.options,
    started_at,
    ended_at,
    duration_ms: moment.now - startedAt,
    subtasks,
    done_before: selection.done.map(({ seq }) => seq),
    left_out: selection.leftOut,
    changed_in_project: facts.projectChanges.slice(0, MAX_PATHS),
    tampering: facts.tampering,
    history: extendHistory(
      facts.before?.history ?? NO_HISTORY,
      facts.before?.subtasks ?? [],
      summary,
      subtasks,
    ),
    statistics: {
      total: subtasks.length,
      completed,
      failed,
      skipped: count('skipped'),
      left: count('left'),
      review,
      success_rate: subtasks.length === 0 ? 100 : Math.floor((100 * completed) / subtasks.length),
      attempts: sum(subtasks.map(({ attempts }) => attempts)),
      work_ms: sum(subtasks.map(({ duration_ms }) => duration_ms)),
      usage,
    },
    next: nextOf(feature, moment, facts.options),
  };
}

function statusOf(total: number, completed: number, failed: number, review: number): RunReport['status'] {
  if (total === 0) return 'nothing';
  if (completed === total) return 'completed';
  if (failed === 0) return review > 0 ? 'review' : 'stopped';
  return completed === 0 ? 'failed' : 'partial';
}

function subtaskReport(
  { feature, attempts: log, taskOf }: RunFacts,
  { seq, title, deliverables }: Subtask,
): SubtaskReport {
  const now = feature.subtasks.find((one) => one.seq === seq);
  const attempts = log.of(seq);
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
    summary: (status === 'completed' ? now?.completionSummary : now?.review?.summary) ?? null,
    deliverables,
    verified: (status === 'completed' || status === 'review') && (last?.evidence.length ?? 0) > 0,
    evidence: last?.evidence ?? [],
    word: last?.lastMessage ?? null,
    discrepancy: last?.discrepancy ?? null,
    touched: (last?.touched ?? []).slice(0, MAX_PATHS),
    outside_deliverables: (last?.outside ?? []).slice(0, MAX_PATHS),
    denied: (last?.denied ?? []).slice(0, MAX_PATHS),
    conflicts: (last?.conflicts ?? []).slice(0, MAX_PATHS),
    branch: last?.branch ?? null,
    kept: last?.kept ?? null,
    attempts: attempts.filter(({ isRefused }) => !isRefused).length,
    attempt_reports: attempts.map((record) => attemptReport(seq, record)),
    forced: now?.status === 'completed' ? (now.forced ?? null) : null,
    duration_ms: sum(attempts.map(({ startedAt, endedAt }) => endedAt - startedAt)),
    usage: sumUsage(attempts.map(({ usage }) => usage)),
  };
}

/** The task files decide; the batch task says why a subtask is not done. */
function reportedStatus(now: Subtask | undefined, task: TaskRecord | undefined): SubtaskReport['status'] {
  if (now?.status === 'completed') return 'completed';
  if (now?.review !== undefined) return 'review';
  if (task?.status === 'failed' || task?.status === 'completed') return 'failed';
  return task?.status === 'skipped' ? 'skipped' : 'left';
}

function nextOf(feature: Feature, moment: Moment, options: readonly string[]): RunReport['next'] {
  const { done, total } = progressOf(feature);
  const ready = selectConcurrent(readySubtasks(feature, moment));
  const place = planWaves(feature.subtasks).findIndex((wave) =>
    wave.some(({ seq }) => seq === ready[0]?.seq),
  );
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
