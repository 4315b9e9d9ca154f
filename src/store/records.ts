import type { ResourceRequirements } from '../core/demand.ts';
import type { FailureReason } from '../core/failure.ts';
import type { Priority } from '../core/priority.ts';
import type { DependencyPolicy } from '../core/terms.ts';

/** Where a stored task stands. `open` has not been started, or shall be started again. */
export type TaskStatus = (typeof TASK_STATUSES)[number];

/** In the order in which they are listed. */
export const TASK_STATUSES = ['open', 'running', 'completed', 'failed', 'cancelled', 'skipped'] as const;

/** A task as it is added. */
export interface NewTask {
  /** Unique within its batch. */
  readonly id: string;
  /** For people. */
  readonly name: string;
  /** The tool that does it. */
  readonly function: string;
  /** Its arguments as JSON text. */
  readonly params: string;
  readonly options: TaskOptions;
}

/** Tasks that were added together: their numbers follow each other. */
export interface AddedTasks {
  readonly firstSeq: number;
  readonly lastSeq: number;
  readonly addedAt: number;
}

/** What a task says otherwise than its tool. */
export interface TaskOptions {
  readonly priority?: Priority;
  readonly maxRetries?: number;
  readonly timeoutMs?: number;
  readonly dependsOn?: readonly string[];
  readonly onDependencyFailure?: DependencyPolicy;
  readonly resources?: ResourceRequirements;
  /** What looked wrong with its arguments when it was added, and may be meant. */
  readonly warnings?: readonly string[];
}

/** Shared by all that say nothing otherwise, which is nearly all. */
export const NO_OPTIONS: TaskOptions = Object.freeze({});

/** A task as it stands in the store, without its result. */
export interface TaskRecord extends NewTask {
  readonly batch: string;
  /** The order in which tasks were added to the batch, from 1. */
  readonly seq: number;
  readonly status: TaskStatus;
  /** How many attempts were started, over all runs. */
  readonly attempts: number;
  /**
   * How many of them have failed and count for its retries: since it was added, or somebody opened it again. One that
   * a crash or a stop has cut short does not.
   */
  readonly failures: number;
  readonly addedAt: number;
  readonly startedAt: number | undefined;
  readonly endedAt: number | undefined;
  /**
   * Of one that has ended: how long its attempts took together, since it was opened last. Pauses between them do not
   * count. Undefined if it never started, or if nobody knows.
   */
  readonly durationMs: number | undefined;
  /** Of a failed one. */
  readonly reason: FailureReason | undefined;
  /** Why it failed, or why it was cancelled, in words. */
  readonly message: string | undefined;
  /** The code of the error, if it had one. */
  readonly code: string | undefined;
  /** Of a skipped one: the id of the task that is the root cause. */
  readonly cause: string | undefined;
  /** Of a completed one: the length of its result as JSON text, in bytes, and the beginning of it. */
  readonly resultBytes: number | undefined;
  readonly preview: string | undefined;
  /** Of a running one that pauses before its next attempt. */
  readonly pause?: TaskPause;
}

/** Why the last attempt of a task failed, and the time of day at which the next one is due. */
export interface TaskPause {
  readonly reason: FailureReason;
  readonly message: string | undefined;
  readonly until: number;
}

/** How a task ended. */
export type TaskEnd =
  | { readonly status: 'completed' /** JSON text. */; readonly result: string }
  | {
      readonly status: 'failed';
      readonly reason: FailureReason;
      readonly message: string;
      readonly code?: string;
    }
  | { readonly status: 'cancelled'; readonly message: string }
  | { readonly status: 'skipped'; readonly cause: string | undefined };

/** A task that has completed. */
export interface Completion {
  readonly seq: number;
  /** JSON text. */
  readonly result: string;
  readonly endedAt: number;
  /** When its last attempt began, where that was not noted before. */
  readonly startedAt: number | undefined;
  /** How long its last attempt took, by the monotonic clock. */
  readonly durationMs?: number | undefined;
}

/** An attempt that failed and is followed by another one. */
export interface FailedAttempt {
  /** When the next one is due. */
  readonly retryAt?: number;
  readonly startedAt: number;
  readonly endedAt: number;
  /** By the monotonic clock. */
  readonly durationMs?: number;
  readonly reason: FailureReason;
  readonly message: string;
}

/** One attempt of a task. */
export interface AttemptRecord {
  readonly seq: number;
  /** The id of the task. */
  readonly id: string;
  /** From 1, over all runs. */
  readonly attempt: number;
  readonly startedAt: number;
  /** Unknown of one that runs, and of one whose process died. */
  readonly endedAt: number | undefined;
  /** How long it took; undefined of one that runs, and where nobody knows. */
  readonly durationMs: number | undefined;
  readonly outcome: 'running' | 'completed' | 'failed' | 'cancelled' | 'crashed';
  readonly reason: FailureReason | undefined;
  readonly message: string | undefined;
}

/** A batch as it stands in the store. */
export interface BatchRecord {
  /** Rises with every batch that is made. */
  readonly number: number;
  readonly name: string;
  readonly createdAt: number;
  readonly startedAt: number | undefined;
  readonly endedAt: number | undefined;
  /** What `start` was told last, as JSON text. */
  readonly options: string | undefined;
  readonly counts: Readonly<Record<TaskStatus, number>>;
  /** Who runs it now; a process that died holds nothing. */
  readonly holder: LeaseHolder | undefined;
}

/** A process that runs a batch. */
export interface LeaseHolder {
  readonly pid: number;
  readonly host: string;
  /** When it took the batch. */
  readonly since: number;
  /** When it was last heard of. */
  readonly seenAt: number;
}
