import type { TimeLeft } from '../core/predict.ts';
import type { BatchRecord, LeaseHolder } from '../store/records.ts';
import { endedOf, type TaskCounts, totalOf } from './counts.ts';
import type { BatchRun } from './run/batch-run.ts';
import type { FailedTask, RunningTask } from './run/monitor.ts';
import type { BatchRuns } from './runs.ts';

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
  readonly startedAt: number | undefined;
  readonly endedAt: number | undefined;
  readonly maxConcurrency: number | undefined;
  /** Who runs it, where that is another process. */
  readonly holder: LeaseHolder | undefined;
}

const MOST_RUNNING = 100;

/** Costs the same however large the batch is. */
export function viewOf(record: BatchRecord, runs: BatchRuns): BatchView {
  const { name, counts, startedAt, endedAt } = record;
  const run = runs.current(name);
  const holder = runs.otherHolder(record);
  const total = totalOf(counts);
  const done = Math.min(total, endedOf(counts) + (run?.partial() ?? 0));
  return {
    name,
    state: stateOf(run, holder),
    counts,
    total,
    progress: total === 0 ? 0 : done / total,
    ratePerSecond: run?.monitor.ratePerSecond(),
    timeLeft: run?.prediction.timeLeft(),
    running: run?.monitor.running(MOST_RUNNING) ?? [],
    lastFailures: run?.monitor.lastFailures() ?? [],
    startedAt,
    endedAt,
    maxConcurrency: run?.maxConcurrency,
    holder,
  };
}

function stateOf(run: BatchRun | undefined, holder: LeaseHolder | undefined): BatchView['state'] {
  if (run !== undefined) return run.isStopping ? 'stopping' : 'running';
  return holder === undefined ? 'idle' : 'elsewhere';
}
