import type { TaskCounts } from '../../../../src/batch/counts.ts';
import type { DisplayedBatch, DisplayedTask } from '../../../../src/cli/display/view.ts';

export const NO_COUNTS: TaskCounts = {
  open: 0,
  running: 0,
  completed: 0,
  failed: 0,
  cancelled: 0,
  skipped: 0,
};

export function viewWith(
  parts: Partial<Omit<DisplayedBatch, 'counts'>> & { counts?: Partial<TaskCounts> } = {},
): DisplayedBatch {
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

export function runningTask(
  name: string,
  startedAt: number,
  more: Partial<DisplayedTask> = {},
): DisplayedTask {
  return { name, function: 'tool', startedAt, ...more };
}
