import type { TaskStatus } from '../../store/records.ts';

/** A task of a batch that was run: all that a drawing needs of it. */
export interface FinishedTask {
  readonly id: string;
  readonly name: string;
  readonly function: string;
  readonly status: TaskStatus;
  /** When it was started first, in milliseconds since whenever; undefined if it never was. */
  readonly startMs: number | undefined;
  /** When it ended; undefined if it did not. */
  readonly endMs: number | undefined;
  /** How long it worked, without pauses, by the monotonic clock. */
  readonly durationMs?: number | undefined;
  /** When it worked, if that was more than once. */
  readonly tries?: readonly { readonly startMs: number; readonly endMs: number }[];
  readonly attempts: number;
  /** Ids of tasks of the same batch. */
  readonly dependsOn: readonly string[];
}

/** In the order in which they are listed. */
export const STATUS_ORDER: readonly TaskStatus[] = [
  'completed',
  'failed',
  'cancelled',
  'skipped',
  'running',
  'open',
];

/** Whether it ended without a result: what waits for it cannot run. One that is open may still have one. */
export function endedBadly({ status }: FinishedTask): boolean {
  return status === 'failed' || status === 'cancelled' || status === 'skipped';
}
