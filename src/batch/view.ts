import type { TimeLeft } from '../core/predict.ts';
import { MAX_SEQ } from '../store/keys.ts';
import type { BatchRecord, LeaseHolder, TaskRecord } from '../store/records.ts';
import type { Store } from '../store/store.ts';
import { endedOf, type TaskCounts, totalOf } from './counts.ts';
import type { BatchRun } from './run/batch-run.ts';
import type { FailedTask, RunningTask } from './run/monitor.ts';
import type { BatchRuns } from './runs.ts';
import { problemText } from './text.ts';

/** How a batch stands at one moment: all that a display needs. */
export interface BatchView {
  readonly name: string;
  /** `elsewhere`: another process runs it. */
  readonly state: 'idle' | 'running' | 'stopping' | 'elsewhere';
  readonly counts: TaskCounts;
  readonly total: number;
  /** The share of the work that is done, 0 to 1: what has ended, and the reported part of what runs. */
  readonly progress: number;
  /** How many tasks end in a second, over the last ten; undefined while nobody can tell. */
  readonly ratePerSecond: number | undefined;
  readonly timeLeft: TimeLeft | undefined;
  /** The oldest first; not all of them where there are many. */
  readonly running: readonly RunningTask[];
  /** The newest first. */
  readonly lastFailures: readonly FailedTask[];
  readonly createdAt: number;
  readonly startedAt: number | undefined;
  readonly endedAt: number | undefined;
  readonly maxConcurrency: number | undefined;
  /** Who runs it, where that is another process. */
  readonly holder: LeaseHolder | undefined;
  /** Why its last run here ended before its time, in words. */
  readonly problem: string | undefined;
}

const MAX_RUNNING = 100;
const MAX_FAILURES = 10;

/** How far a batch is, and nothing that takes time to work out. */
export function standingOf(
  record: BatchRecord,
  { runs }: { readonly runs: BatchRuns },
): Pick<BatchView, 'state' | 'counts' | 'total' | 'progress'> {
  const { name, counts } = record;
  const run = runs.current(name);
  const total = totalOf(counts);
  const done = Math.min(total, endedOf(counts) + (run?.partial() ?? 0));
  const state = stateOf(run, runs.otherHolder(record));
  return { state, counts, total, progress: total === 0 ? 0 : done / total };
}

/** Costs the same however large the batch is. */
export function viewOf(
  record: BatchRecord,
  { runs, store }: { readonly runs: BatchRuns; readonly store: Pick<Store, 'tasks'> },
): BatchView {
  const { name, createdAt, startedAt, endedAt } = record;
  const run = runs.current(name);
  const holder = runs.otherHolder(record);
  const problem = run === undefined ? runs.problemOf(name) : undefined;
  return {
    name,
    ...standingOf(record, { runs }),
    ...(run?.speed() ?? { ratePerSecond: undefined, timeLeft: undefined }),
    running: run?.monitor.running(MAX_RUNNING) ?? (holder && runningElsewhere(store, name)) ?? [],
    lastFailures:
      run?.monitor.lastFailures() ?? (record.counts.failed > 0 ? storedFailures(store, name) : []),
    createdAt,
    startedAt,
    endedAt,
    maxConcurrency: run?.maxConcurrency,
    holder,
    problem: problem === undefined ? undefined : problemText(problem),
  };
}

function stateOf(run: BatchRun | undefined, holder: LeaseHolder | undefined): BatchView['state'] {
  if (run !== undefined) return run.isStopping ? 'stopping' : 'running';
  return holder === undefined ? 'idle' : 'elsewhere';
}

/**
 * What the store tells of a batch that another process runs: all but progress within a task. One that pauses before
 * another attempt does not run.
 */
function runningElsewhere(store: Pick<Store, 'tasks'>, batch: string): RunningTask[] {
  const tasks = store.tasks(batch, { status: ['running'], limit: MAX_RUNNING });
  const running = tasks.filter(({ pause }) => pause === undefined);
  return running.map(({ id, name, function: tool, attempts, startedAt = Date.now() }) => ({
    id,
    name,
    function: tool,
    attempt: attempts,
    startedAt,
    progress: undefined,
    step: undefined,
  }));
}

/** Of those that were added last: to find the newest of all would mean to look at all. */
function storedFailures(store: Pick<Store, 'tasks'>, batch: string): FailedTask[] {
  const query = { status: ['failed'], beforeSeq: MAX_SEQ + 1, limit: MAX_FAILURES } as const;
  return store
    .tasks(batch, query)
    .map(failedTask)
    .sort((a, b) => b.at - a.at);
}

function failedTask({
  id,
  name,
  function: tool,
  reason,
  message,
  attempts,
  endedAt,
}: TaskRecord): FailedTask {
  return {
    id,
    name,
    function: tool,
    reason: reason ?? 'error',
    message: message ?? '',
    attempts,
    at: endedAt ?? 0,
  };
}
