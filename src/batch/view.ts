import type { TimeLeft } from '../core/predict.ts';
import { type BatchRecord, isGroup, type LeaseHolder, type TaskRecord } from '../store/records.ts';
import { MAX_SEQ } from '../store/rows.ts';
import type { Store, TaskQuery } from '../store/store.ts';
import { endedOf, hasSucceeded, type TaskCounts, totalOf } from './counts.ts';
import { doneText } from './group-text.ts';
import { itemCountsOf } from './result-row.ts';
import { MAX_CONCURRENT } from './run/auto-concurrency.ts';
import type { BatchRun } from './run/batch-run.ts';
import type { FailedTask, QuotaPause, RunningTask } from './run/monitor.ts';
import type { BatchRuns } from './run/runs.ts';
import { runProblemText } from './text.ts';

/** A snapshot of a batch, with everything a display needs. */
export interface BatchView {
  readonly name: string;
  /** `elsewhere`: another process runs it. */
  readonly state: 'idle' | 'running' | 'stopping' | 'elsewhere';
  readonly counts: TaskCounts;
  readonly total: number;
  /** How many completed tasks have a result from the cache. */
  readonly cached: number;
  readonly spending: BatchRecord['spending'];
  /** See {@link BatchRecord}. */
  readonly hasFailures: boolean;
  /** The share of the work that is done, 0 to 1. What failed is not done. */
  readonly progress: number;
  /** Tasks that end per second, over the last ten seconds; undefined if unknown. */
  readonly ratePerSecond: number | undefined;
  readonly timeLeft: TimeLeft | undefined;
  /** Oldest first, up to a limit. */
  readonly running: readonly RunningTask[];
  /** Newest first. */
  readonly lastFailures: readonly FailedTask[];
  readonly createdAt: number;
  readonly startedAt: number | undefined;
  readonly endedAt: number | undefined;
  readonly maxConcurrency: number | undefined;
  /** The other process that runs it. */
  readonly holder: LeaseHolder | undefined;
  /** The quotas that are used up, if this process runs it: what needs them waits until then. */
  readonly pauses: readonly QuotaPause[];
  /** Why its last run in this process ended early. */
  readonly problem: string | undefined;
}

/** How batches are searched: `unfinished` are those that nobody runs and that are not over. */
export const BATCH_PHASES = ['active', 'unfinished', 'succeeded', 'failed'] as const;

export type BatchPhase = (typeof BATCH_PHASES)[number];

export function phaseOf(view: Pick<BatchView, 'state' | 'counts' | 'total' | 'hasFailures'>): BatchPhase {
  if (view.state !== 'idle') return 'active';
  if (view.total === 0 || view.counts.open + view.counts.running > 0) return 'unfinished';
  return hasSucceeded(view) ? 'succeeded' : 'failed';
}

/** How many running tasks a snapshot lists. */
export const MAX_RUNNING = 100;
const MAX_FAILURES = 10;

/** Returns the parts of a snapshot that are cheap to compute. */
export function batchStanding(
  record: BatchRecord,
  { runs }: { readonly runs: BatchRuns },
): Pick<BatchView, 'state' | 'counts' | 'total' | 'cached' | 'spending' | 'hasFailures' | 'progress'> {
  const { name, cached, spending, hasFailures } = record;
  const run = runs.current(name);
  const counts = run === undefined ? record.counts : currentCounts(record.counts, run);
  const total = totalOf(counts);
  const state = stateOf(run, runs.otherHolder(record));
  const progress = progressOf(counts, hasFailures, run?.partial() ?? 0);
  return { state, counts, total, cached, spending, hasFailures, progress };
}

/**
 * The share of the work that is done, 0 to 1: completed tasks, tasks that their conditions skip, and the reported
 * `partial` progress of running ones. What failed, was cancelled or was skipped for that is not done.
 */
function progressOf(counts: TaskCounts, hasFailures: boolean, partial: number): number {
  const total = totalOf(counts);
  if (total === 0) return 0;
  if (hasSucceeded({ counts, hasFailures })) return 1;
  const done = counts.completed + (hasFailures ? 0 : counts.skipped) + Math.min(partial, counts.running);
  return Math.min(total, done) / total;
}

/**
 * The counts of a batch that this process runs. The store learns of a start a little later than the run, so that it
 * would count a task as open that is listed as running.
 */
function currentCounts(stored: TaskCounts, { monitor }: BatchRun): TaskCounts {
  const left = stored.open + stored.running;
  const running = Math.min(left, monitor.started);
  return { ...stored, running, open: left - running };
}

interface ViewSources {
  readonly runs: BatchRuns;
  readonly store: Pick<Store, 'batch' | 'batchWithTasks' | 'itemCounts'>;
}

/** The tasks to read of a batch that another process runs. The failures are those of the tasks added last. */
const QUERIES: readonly TaskQuery[] = [
  { status: ['running'], limit: MAX_RUNNING },
  { status: ['failed'], beforeSeq: MAX_SEQ + 1, limit: MAX_FAILURES },
];

/** Returns a snapshot of a batch, or undefined if it does not exist. The cost does not depend on its size. */
export async function readView(name: string, { runs, store }: ViewSources): Promise<BatchView | undefined> {
  if (runs.current(name) !== undefined) {
    const record = await store.batch(name);
    const run = runs.current(name);
    if (record === undefined) return undefined;
    if (run !== undefined) return viewOf(record, runs, run);
  }
  const found = await store.batchWithTasks(name, QUERIES);
  if (found === undefined) return undefined;
  const [running = [], failed = []] = found.tasks;
  const elsewhere = runs.otherHolder(found.batch) === undefined ? [] : await runningElsewhere(store, running);
  return viewOf(found.batch, runs, runs.current(name), elsewhere, failed);
}

/** Returns a snapshot of a batch whose record is already read. */
export async function viewOfRecord(record: BatchRecord, sources: ViewSources): Promise<BatchView> {
  const { runs } = sources;
  const run = runs.current(record.name);
  const isAllKnown = run !== undefined || (record.holder === undefined && record.counts.failed === 0);
  return isAllKnown
    ? viewOf(record, runs, run)
    : ((await readView(record.name, sources)) ?? viewOf(record, runs, run));
}

function viewOf(
  record: BatchRecord,
  runs: BatchRuns,
  run: BatchRun | undefined,
  elsewhere: readonly RunningTask[] = [],
  failed: readonly TaskRecord[] = [],
): BatchView {
  const { name, createdAt, startedAt, endedAt } = record;
  const holder = runs.otherHolder(record);
  const problem = run === undefined ? runs.problemOf(name) : undefined;
  return {
    name,
    ...batchStanding(record, { runs }),
    ...(run?.speed() ?? { ratePerSecond: undefined, timeLeft: undefined, pauses: [] }),
    running: run?.monitor.running(MAX_RUNNING) ?? elsewhere,
    lastFailures: run?.monitor.lastFailures() ?? failed.map(failedTask).sort((a, b) => b.at - a.at),
    createdAt,
    startedAt,
    endedAt,
    // The most that can be asked for stands for no limit.
    maxConcurrency: run?.maxConcurrency === MAX_CONCURRENT ? undefined : run?.maxConcurrency,
    holder,
    problem: problem === undefined ? undefined : runProblemText(problem),
  };
}

function stateOf(run: BatchRun | undefined, holder: LeaseHolder | undefined): BatchView['state'] {
  if (run !== undefined) return run.isStopping ? 'stopping' : 'running';
  return holder === undefined ? 'idle' : 'elsewhere';
}

/**
 * Returns the running tasks of a batch that another process runs. The store has no progress within a task, but that of
 * groups. Tasks that wait for a retry are not running.
 */
async function runningElsewhere(
  store: Pick<Store, 'itemCounts'>,
  tasks: readonly TaskRecord[],
): Promise<RunningTask[]> {
  const running = tasks.filter(({ pause }) => pause === undefined);
  const items = await itemCountsOf(store, running);
  return running.map(
    ({ id, seq, name, function: tool, attempts, startedAt = Date.now(), worker, options }) => {
      const counts = items.get(seq);
      const total = counts === undefined ? 0 : totalOf(counts);
      const isCounted = counts !== undefined && total > 0;
      return {
        id,
        name,
        function: tool,
        attempt: attempts,
        group: options.item?.group,
        isGroup: isGroup(options),
        startedAt,
        worker,
        progress: isCounted && options.repeat === undefined ? endedOf(counts) / total : undefined,
        step: isCounted ? doneText(counts, options) : undefined,
      };
    },
  );
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
