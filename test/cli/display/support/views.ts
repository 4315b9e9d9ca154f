import type { BatchView, RunningTask, TaskCounts } from '../../../../src/cli/display/view.ts';

export const NO_COUNTS: TaskCounts = {
  open: 0,
  running: 0,
  completed: 0,
  failed: 0,
  cancelled: 0,
  skipped: 0,
};

export function viewWith(
  parts: Partial<Omit<BatchView, 'counts'>> & { counts?: Partial<TaskCounts> } = {},
): BatchView {
  return {
    name: 'audit',
    progress: 0.5,
    ratePerSecond: undefined,
    timeLeft: undefined,
    running: [],
    ...parts,
    counts: { ...NO_COUNTS, ...parts.counts },
  };
}

export function runningTask(name: string, startedAt: number, more: Partial<RunningTask> = {}): RunningTask {
  return { name, function: 'tool', startedAt, ...more };
}
