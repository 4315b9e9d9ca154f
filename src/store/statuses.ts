import type { TaskStatus } from './records.ts';

/** A status is stored as its index. The order never changes; a new one is added at the end. */
export const STATUSES = [
  'open',
  'running',
  'completed',
  'failed',
  'cancelled',
  'skipped',
] as const satisfies readonly TaskStatus[];

export const OPEN = 0;
export const RUNNING = 1;
export const COMPLETED = 2;
export const FAILED = 3;
export const CANCELLED = 4;
export const SKIPPED = 5;

export function statusNumber(status: TaskStatus): number {
  return STATUSES.indexOf(status);
}
