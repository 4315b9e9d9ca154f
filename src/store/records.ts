import type { ResourceRequirements } from '../core/demand.ts';
import type { FailureReason } from '../core/failure.ts';
import type { Labels } from '../core/labels.ts';
import type { Priority } from '../core/priority.ts';
import type { DependencyPolicy } from '../core/terms.ts';

/** The status of a stored task. `open` means not started, or to be started again. */
export type TaskStatus = (typeof TASK_STATUSES)[number];

/** In display order. */
export const TASK_STATUSES = ['open', 'running', 'completed', 'failed', 'cancelled', 'skipped'] as const;

/** A task to add. */
export interface NewTask {
  /** Unique within its batch. */
  readonly id: string;
  /** For display. */
  readonly name: string;
  /** The tool that runs it. */
  readonly function: string;
  /** Its arguments as JSON. */
  readonly params: string;
  readonly options: TaskOptions;
}

/** Tasks that were added together have consecutive numbers. */
export interface AddedTasks {
  readonly firstSeq: number;
  readonly lastSeq: number;
  readonly addedAt: number;
}

/** Settings that differ from those of its tool. */
export interface TaskOptions {
  readonly priority?: Priority;
  readonly maxRetries?: number;
  readonly timeoutMs?: number;
  readonly dependsOn?: readonly string[];
  readonly onDependencyFailure?: DependencyPolicy;
  readonly resources?: ResourceRequirements;
  /** The labels of the workers on which it may run. */
  readonly on?: Labels;
  /** Those of `dependsOn` that its expressions mention. */
  readonly mentions?: readonly string[];
  /** An expression. The task is skipped if it does not hold. */
  readonly when?: string;
  /** Makes it a group with an item for each element: a list, a reference, `{ glob }` or an expression. */
  readonly forEach?: unknown;
  /** Makes it a group of rounds. */
  readonly repeat?: RepeatOptions;
  /** Makes it a group of the calls that a program makes. */
  readonly program?: ProgramRecord;
  /** How many items of the group may run at once. */
  readonly maxConcurrent?: number;
  /** Whether a failed item is null in the result of its group, instead of failing the group. */
  readonly onItemError?: 'null';
  /** Makes it an item of a group. Its params are final: they contain no references. */
  readonly item?: ItemOptions;
  /** Warnings about its arguments from when it was added. */
  readonly warnings?: readonly string[];
}

/** The rounds of a group. */
export interface RepeatOptions {
  /** An expression. The round after which it holds is the last. */
  readonly until?: string;
  readonly max: number;
  /** The pause between two rounds. */
  readonly delayMs?: number;
}

/** What a program needs, besides its text and arguments, to do the same each time. */
export interface ProgramRecord {
  /** Of `Math.random`. */
  readonly seed: number;
  /** The version of the VM that runs it. */
  readonly vm: string;
}

/** The end of a call, as it was delivered to its program. The position counts from 0. */
export interface Delivery {
  /** The index of the call; -1 for the start of the program. */
  readonly index: number;
  /** The time that the program sees. */
  readonly at: number;
}

/** The place of an item in its group. */
export interface ItemOptions {
  /** The id of the group. */
  readonly group: string;
  readonly index: number;
  /** If it is a call of a program: the hash of its arguments, and how many deliveries came before it. */
  readonly call?: { readonly hash: string; readonly after: number };
  /** Why its params could not be computed. It fails with this. */
  readonly problem?: { readonly code: string; readonly message: string };
}

/** Whether a task becomes several, its items. */
export function isGroup({ forEach, repeat, program }: TaskOptions): boolean {
  return forEach !== undefined || repeat !== undefined || program !== undefined;
}

/** How a task becomes several. Undefined if it does not. */
export function groupKind({ forEach, repeat, program }: TaskOptions): GroupKind | undefined {
  if (program !== undefined) return 'program';
  if (forEach !== undefined) return 'for_each';
  return repeat === undefined ? undefined : 'repeat';
}

export const GROUP_KINDS = ['for_each', 'repeat', 'program'] as const;

export type GroupKind = (typeof GROUP_KINDS)[number];

/** The id of an item. Ids that users give contain no brackets. */
export function itemId(group: string, index: number): string {
  return `${group}[${index}]`;
}

/** Shared by all tasks without settings of their own, which is nearly all. */
export const NO_OPTIONS: TaskOptions = Object.freeze({});

/** A stored task without its result. */
export interface TaskRecord extends NewTask {
  readonly batch: string;
  /** The order in which tasks were added to the batch, from 1. */
  readonly seq: number;
  readonly status: TaskStatus;
  /** The number of started attempts over all runs. */
  readonly attempts: number;
  /**
   * The number of failed attempts that count toward its retries, since it was added or reopened. An attempt cut short
   * by a crash or a stop does not count.
   */
  readonly failures: number;
  readonly addedAt: number;
  readonly startedAt: number | undefined;
  readonly endedAt: number | undefined;
  /**
   * If it has ended: the total duration of its attempts since it was last opened, without the pauses between them.
   * Undefined if it never started, or if unknown.
   */
  readonly durationMs: number | undefined;
  /** Set if it failed. */
  readonly reason: FailureReason | undefined;
  /** Why it failed, was cancelled, or was skipped by itself. */
  readonly message: string | undefined;
  /** The error code, if any. */
  readonly code: string | undefined;
  /** If skipped: the id of the task that is the root cause. */
  readonly cause: string | undefined;
  /** If completed: the size of its result as JSON in bytes, and the beginning of it. */
  readonly resultBytes: number | undefined;
  readonly preview: string | undefined;
  /** Set if its result came from the cache. */
  readonly cached?: true;
  /** The worker of its last attempt, if that was placed on one. */
  readonly worker?: string;
  /** If completed: what its last attempt used in processes. */
  readonly usage?: StoredUsage;
  /** What its calls of models and agents have cost, over all attempts. */
  readonly spending?: StoredSpending;
  /** Set while a running task pauses before its next attempt. */
  readonly pause?: TaskPause;
}

/** The record of a task that was just added. */
export function addedRecord(task: NewTask, batch: string, seq: number, addedAt: number): TaskRecord {
  return {
    ...task,
    batch,
    seq,
    status: 'open',
    attempts: 0,
    failures: 0,
    addedAt,
    startedAt: undefined,
    endedAt: undefined,
    durationMs: undefined,
    reason: undefined,
    message: undefined,
    code: undefined,
    cause: undefined,
    resultBytes: undefined,
    preview: undefined,
  };
}

/** Why the last attempt failed, and when the next one is due (wall clock). */
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
  | {
      readonly status: 'skipped';
      readonly cause: string | undefined;
      readonly code?: string;
      readonly message?: string;
    };

/** A completed task. */
export interface Completion {
  readonly seq: number;
  /** The result as JSON; undefined if it is too large to be stored. */
  readonly result: string | undefined;
  readonly endedAt: number;
  /** When its last attempt began, if not recorded before. */
  readonly startedAt: number | undefined;
  /** The duration of its last attempt, by the monotonic clock. */
  readonly durationMs?: number | undefined;
  /** Binary data that the result refers to. What the batch has already is not stored again. */
  readonly blobs?: readonly StoredBlob[] | undefined;
  /** Whether the result came from the cache. */
  readonly isCached?: boolean;
  readonly usage?: StoredUsage | undefined;
}

/** What an attempt used in processes, as far as it was measured. */
export interface StoredUsage {
  /** The peak of its memory. */
  readonly memoryMb?: number | undefined;
  readonly cpuMs?: number | undefined;
  /** How long its processes ran. */
  readonly durationMs: number;
}

/** What calls of models and agents have cost together. */
export interface StoredSpending {
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Of those calls whose cost is known, in US dollars. */
  readonly costUsd: number;
  /** How many calls have an unknown cost. */
  readonly unpriced: number;
}

/** Binary data of a result: a picture, sound or a file. */
export interface StoredBlob {
  /** Derived from the content. */
  readonly id: string;
  readonly mimeType: string;
  readonly bytes: Uint8Array;
}

/** The cached results of one function. */
export interface CacheUse {
  readonly function: string;
  readonly results: number;
  readonly bytes: number;
  readonly lastUsedAt: number;
}

/** A failed attempt that will be followed by another. */
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
  /** Unknown while it runs, or if its process died. */
  readonly endedAt: number | undefined;
  /** Its duration; undefined while it runs, or if unknown. */
  readonly durationMs: number | undefined;
  readonly outcome: 'running' | 'completed' | 'failed' | 'cancelled' | 'crashed';
  readonly reason: FailureReason | undefined;
  readonly message: string | undefined;
  /** The worker that it was placed on, if any. */
  readonly worker?: string;
}

/** A stored batch. */
export interface BatchRecord {
  /** Increases with every new batch. */
  readonly number: number;
  readonly name: string;
  readonly createdAt: number;
  readonly startedAt: number | undefined;
  readonly endedAt: number | undefined;
  /** The last options of `start`, as JSON. */
  readonly options: string | undefined;
  readonly counts: Readonly<Record<TaskStatus, number>>;
  /** How many completed tasks have a result from the cache. */
  readonly cached: number;
  /** What its tasks have cost over all runs; undefined if none called a model or an agent. */
  readonly spending: StoredSpending | undefined;
  /**
   * Whether a task failed or was cancelled. When all tasks have ended, items of a group that completed nevertheless do
   * not count.
   */
  readonly hasFailures: boolean;
  /** The process that runs it now; a dead process holds nothing. */
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

/** Where a line of output comes from. `log`: what a tool or program logged. `step`: a progress report. */
export type OutputStreamName = 'stdout' | 'stderr' | 'log' | 'step';

/** A stream is stored as its index. The order never changes; new ones go at the end. */
export const OUTPUT_STREAMS = [
  'stdout',
  'stderr',
  'log',
  'step',
] as const satisfies readonly OutputStreamName[];

/** A line that an attempt printed. It has no line break, no control characters and no secrets. */
export interface OutputLine {
  /** Unix time in milliseconds. */
  readonly at: number;
  readonly stream: OutputStreamName;
  readonly text: string;
}

/** Lines of an attempt that follow each other. */
export interface OutputChunk {
  /** The number of the task. */
  readonly seq: number;
  readonly attempt: number;
  /** The number of the first line, counted from 0 in each attempt. */
  readonly firstLine: number;
  readonly lines: readonly OutputLine[];
}

/** The part of an attempt's output that is kept. Earlier lines were dropped. */
export interface KeptOutput {
  readonly attempt: number;
  readonly firstLine: number;
  /** The number after the last line: how many lines it printed. */
  readonly endLine: number;
  readonly bytes: number;
}
