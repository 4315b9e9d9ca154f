import { countText } from '../core/words.ts';
import { type BatchRecord, TASK_STATUSES, type TaskStatus } from '../store/records.ts';

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

/** Whether all tasks of a batch have ended without failures. Tasks that are skipped by their own conditions are none. */
export function hasSucceeded({ counts, hasFailures }: Pick<BatchRecord, 'counts' | 'hasFailures'>): boolean {
  return counts.open + counts.running === 0 && !hasFailures;
}

/** `10 tasks: 8 completed (3 from cache), 2 failed`. */
export function countsText(counts: TaskCounts, noun = 'task', cached = 0): string {
  const total = totalOf(counts);
  const parts = TASK_STATUSES.filter((status) => counts[status] > 0).map((status) => {
    const source = status === 'completed' && cached > 0 ? ` (${cached} from cache)` : '';
    return `${counts[status]} ${status}${source}`;
  });
  return parts.length === 0 ? `no ${noun}s` : `${countText(total, noun)}: ${parts.join(', ')}`;
}
