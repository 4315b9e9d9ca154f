import type { FailureReason } from '../core/failure.ts';

interface UpdateBase {
  /** Increases by one with every update; a reader can resume after it. */
  readonly eventId: number;
  readonly executionId: string;
  readonly toolName: string;
  readonly group: string | undefined;
  readonly attempt: number;
  /** The time of day in milliseconds since 1970. */
  readonly at: number;
}

/** Something that happened to an execution. */
export type ProgressUpdate =
  /** `waitedMs`: the time since submission, for later attempts too. */
  | (UpdateBase & { readonly type: 'started'; readonly waitedMs: number })
  /** `progress` is the completed share, 0 to 1. */
  | (UpdateBase & { readonly type: 'progress'; readonly progress: number; readonly step: string | undefined })
  | (UpdateBase & { readonly type: 'step'; readonly step: string })
  | (UpdateBase & {
      readonly type: 'retrying';
      readonly reason: FailureReason;
      readonly error: string;
      readonly retryInMs: number;
      /** The quota that was used up, if that was the reason: then it does not count as an attempt. */
      readonly quota?: string;
    })
  | (UpdateBase & { readonly type: 'completed'; readonly durationMs: number })
  | (UpdateBase & { readonly type: 'failed'; readonly reason: FailureReason; readonly error: string })
  | (UpdateBase & { readonly type: 'cancelled'; readonly reason: string })
  | (UpdateBase & { readonly type: 'skipped'; readonly cause: string | undefined })
  /** A stopped attempt did not end within its grace period, and its resources were released. */
  | (UpdateBase & { readonly type: 'abandoned' });

/** The number of updates a slow reader missed. */
export interface MissedUpdates {
  readonly type: 'missed';
  readonly count: number;
}

/** The kinds of updates; the event log stores their indexes. */
export const UPDATE_TYPES = [
  'started',
  'progress',
  'step',
  'retrying',
  'completed',
  'failed',
  'cancelled',
  'skipped',
  'abandoned',
] as const satisfies readonly ProgressUpdate['type'][];

export type UpdateType = (typeof UPDATE_TYPES)[number];
