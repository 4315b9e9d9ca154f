import { countText } from '../core/words.ts';
import { TASK_STATUSES, type TaskStatus } from '../store/records.ts';

/** How many tasks have each status. */
export type TaskCounts = Readonly<Record<TaskStatus, number>>;

/** Statuses of tasks that have ended. */
export const ENDED = ['completed', 'failed', 'cancelled', 'skipped'] as const satisfies readonly TaskStatus[];

export function totalOf(counts: TaskCounts): number {
  return TASK_STATUSES.reduce((sum, status) => sum + counts[status], 0);
}

export function endedOf(counts: TaskCounts): number {
  return ENDED.reduce((sum, status) => sum + counts[status], 0);
}

/**
 * Whether all tasks of a batch ended well. Where nothing failed and nothing was cancelled, tasks were skipped by their own
 * conditions.
 */
export function hasSucceeded({ failed, cancelled, open, running }: TaskCounts): boolean {
  return failed + cancelled + open + running === 0;
}

/** `10 tasks: 8 completed, 2 failed`. */
export function countsText(counts: TaskCounts, noun = 'task'): string {
  const total = totalOf(counts);
  const parts = TASK_STATUSES.filter((status) => counts[status] > 0).map(
    (status) => `${counts[status]} ${status}`,
  );
  return parts.length === 0 ? `no ${noun}s` : `${countText(total, noun)}: ${parts.join(', ')}`;
}
