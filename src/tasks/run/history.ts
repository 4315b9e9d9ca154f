import type { AgentUsage } from '../../agents/adapter.ts';
import { sumUsage } from '../../agents/usage.ts';
import { oneLine } from '../../batch/text.ts';
import { isoTime } from '../files/readiness.ts';
import type { SubtaskReport } from './report.ts';
import type { SubtaskAttempt } from './run-context.ts';

/** One attempt at a subtask, in any run. */
export interface AttemptReport {
  readonly seq: string;
  /** Counts over all runs, from 1. */
  readonly attempt: number;
  readonly agent: string;
  /** The worker that ran the agent; null if it ran on the machine of the run. Missing in older reports. */
  readonly worker?: string | null;
  readonly started_at: string;
  readonly duration_ms: number;
  /** Why it failed; null if it did not. `limit` and `outage` came from outside: such attempts do not count. */
  readonly reason: string | null;
  readonly error: string | null;
  readonly usage: AgentUsage;
  /** The path of its transcript, relative to the project. */
  readonly transcript: string | null;
  /** The path of work that was not merged. */
  readonly kept: string | null;
  readonly branch: string | null;
}

/** One run of a feature. */
interface RunSummary {
  readonly started_at: string;
  readonly ended_at: string;
  readonly status: string;
  readonly completed: readonly string[];
  readonly failed: readonly string[];
  readonly usage: AgentUsage;
}

/** All runs of a feature. Sums include what the lists no longer hold. */
export interface FeatureHistory {
  /** Oldest first. */
  readonly runs: readonly RunSummary[];
  readonly attempts: readonly AttemptReport[];
  /** The last results of subtasks that were not part of the last run. */
  readonly earlier: readonly SubtaskReport[];
  readonly usage: {
    readonly total: AgentUsage;
    readonly by_agent: Readonly<Record<string, AgentUsage>>;
    readonly by_subtask: Readonly<Record<string, AgentUsage>>;
  };
}

const MAX_RUNS = 100;
const MAX_ATTEMPTS = 5000;
const MAX_ERROR_LENGTH = 500;

export const NO_HISTORY: FeatureHistory = {
  runs: [],
  attempts: [],
  earlier: [],
  usage: { total: {}, by_agent: {}, by_subtask: {} },
};

export function attemptReport(seq: string, record: SubtaskAttempt): AttemptReport {
  return {
    seq,
    attempt: record.number,
    agent: record.agent,
    worker: record.worker ?? null,
    started_at: isoTime(record.startedAt),
    duration_ms: record.endedAt - record.startedAt,
    reason: record.reason ?? null,
    error: record.error === undefined ? null : oneLine(record.error, MAX_ERROR_LENGTH),
    usage: record.usage,
    transcript: record.transcript ?? null,
    kept: record.kept ?? null,
    branch: record.branch ?? null,
  };
}

/** Adds a run to the history before it. */
export function extendHistory(
  before: FeatureHistory,
  earlier: readonly SubtaskReport[],
  run: RunSummary,
  subtasks: readonly SubtaskReport[],
): FeatureHistory {
  const attempts = subtasks.flatMap((one) => one.attempt_reports);
  const isNow = new Set(subtasks.map(({ seq }) => seq));
  const { total, by_agent, by_subtask } = before.usage;
  return {
    runs: [...before.runs, run].slice(-MAX_RUNS),
    attempts: [...before.attempts, ...attempts].slice(-MAX_ATTEMPTS),
    earlier: [...before.earlier, ...earlier].filter(
      ({ seq }, index, all) => !isNow.has(seq) && all.findLastIndex((one) => one.seq === seq) === index,
    ),
    usage: {
      total: sumUsage([total, ...attempts.map(({ usage }) => usage)]),
      by_agent: addUsage(by_agent, attempts, ({ agent }) => agent),
      by_subtask: addUsage(by_subtask, attempts, ({ seq }) => seq),
    },
  };
}

function addUsage(
  before: Readonly<Record<string, AgentUsage>>,
  attempts: readonly AttemptReport[],
  keyOf: (attempt: AttemptReport) => string,
): Record<string, AgentUsage> {
  const sums = new Map(Object.entries(before));
  for (const attempt of attempts)
    sums.set(keyOf(attempt), sumUsage([sums.get(keyOf(attempt)) ?? {}, attempt.usage]));
  return Object.fromEntries(sums);
}
