import type { ProcessIdentity } from '../../store/process-identity.ts';

export const SUBTASK_STATUSES = ['pending', 'in_progress', 'completed', 'blocked'] as const;
export type SubtaskStatus = (typeof SUBTASK_STATUSES)[number];

export const FEATURE_STATUSES = ['active', 'completed', 'blocked', 'archived'] as const;
type FeatureStatus = (typeof FEATURE_STATUSES)[number];

/** A file, or part of one, that an agent should read. */
export interface FileReference {
  readonly path: string;
  /** For example `10-50`. */
  readonly lines: string | undefined;
  readonly reason: string | undefined;
}

/** Evidence a subtask must show besides its deliverables. */
export type Check =
  | {
      readonly type: 'command';
      readonly command: string;
      readonly expectExit: number;
      /** Must appear in the command's output. */
      readonly expectText: string | undefined;
      readonly timeoutMs: number;
    }
  | { readonly type: 'file_exists'; readonly path: string }
  | { readonly type: 'file_contains'; readonly path: string; readonly text: string };

export type CommandCheck = Extract<Check, { type: 'command' }>;

/** A lease on a subtask. An agent that does not renew it in time loses it. */
export interface Claim {
  readonly agent: string;
  readonly heartbeatAt: number;
  readonly leaseUntil: number;
  /** The claim also ends when this process does. */
  readonly process: ProcessIdentity | undefined;
}

/** Verified work of an attempt that is not merged. */
interface UnmergedAttempt {
  readonly at: number;
  /** The commit with all of it, the commit that it began with, and its own branch. */
  readonly commit: string;
  readonly base: string;
  readonly branch: string;
}

/** Work that waits until a person approves or rejects it. */
export interface Review extends UnmergedAttempt {
  readonly agent: string;
  /** Counts over all runs, from 1. */
  readonly attempt: number;
  readonly summary: string;
  /** How many checks passed. */
  readonly passed: number;
  /** The branch that gets the work; undefined for the one that is checked out. */
  readonly into: string | undefined;
  /** A run that is live merges it. Outside of runs this means nothing. */
  readonly approvedAt: number | undefined;
}

/** Work that the next attempt improves. */
export interface Rejection extends UnmergedAttempt {
  readonly why: string;
  /** Whether a person rejected it, or it does not fit what was merged meanwhile. */
  readonly by: 'person' | 'merge';
}

/** The content of a `subtask_NN.json`, with defaults filled in. Times are in milliseconds since 1970. */
export interface Subtask {
  /** The file name inside the feature's folder. */
  readonly file: string;
  readonly seq: string;
  /** The `seq` field in the file. The file name wins if they differ. */
  readonly statedSeq: string | undefined;
  readonly id: string;
  readonly title: string;
  readonly description: string | undefined;
  readonly status: SubtaskStatus;
  /** The `status` field in the file, if it is unknown. The subtask then counts as blocked. */
  readonly unknownStatus: string | undefined;
  /** Unique sequence numbers within the same feature. */
  readonly dependsOn: readonly string[];
  /** Whether other subtasks may run at the same time. */
  readonly parallel: boolean;
  readonly contextFiles: readonly FileReference[];
  readonly referenceFiles: readonly FileReference[];
  readonly suggestedAgent: string | undefined;
  readonly priority: string | undefined;
  readonly acceptanceCriteria: readonly string[];
  readonly deliverables: readonly string[];
  readonly verification: readonly Check[];
  readonly agentId: string | undefined;
  readonly startedAt: number | undefined;
  readonly completedAt: number | undefined;
  readonly completionSummary: string | undefined;
  readonly blockedReason: string | undefined;
  readonly claim: Claim | undefined;
  /** Set when the agent reported completion from its own worktree and the work is not merged yet. */
  readonly marked: { readonly summary: string } | undefined;
  readonly review: Review | undefined;
  readonly rejection: Rejection | undefined;
  /** What was missing when it was completed with `--force`. */
  readonly forced: readonly string[] | undefined;
}

/** A subtask file that cannot be parsed. It counts as an open subtask. */
export interface BrokenFile {
  readonly file: string;
  readonly seq: string;
}

/** A folder of `.tmp/tasks`: its `task.json` and its subtasks, ordered by number. */
export interface Feature {
  /** The name of the folder. */
  readonly name: string;
  /** Undefined if `task.json` is missing or unreadable. */
  readonly task: TaskHead | undefined;
  readonly subtasks: readonly Subtask[];
  readonly broken: readonly BrokenFile[];
  /** Problems found while reading. */
  readonly problems: readonly FeatureProblem[];
}

/** The content of a `task.json`. */
export interface TaskHead {
  readonly id: string | undefined;
  readonly name: string;
  readonly status: FeatureStatus;
  readonly objective: string | undefined;
  readonly contextFiles: readonly FileReference[];
  readonly referenceFiles: readonly FileReference[];
  readonly exitCriteria: readonly string[];
  /** The counters as written, right or wrong. */
  readonly subtaskCount: number | undefined;
  readonly completedCount: number | undefined;
  readonly completedAt: number | undefined;
}

export type ProblemCode =
  | 'unreadable'
  | 'wrong-type'
  | 'missing-task-file'
  | 'id'
  | 'status'
  | 'sequence'
  | 'duplicate-sequence'
  | 'count'
  | 'missing-dependency'
  | 'cycle'
  | 'order'
  | 'deliverable'
  | 'overlap'
  | 'verification'
  | 'no-subtasks'
  | 'unverifiable'
  | 'forced'
  | 'label'
  | 'inside-batch'
  | 'not-parallel'
  | 'open-dependency'
  | 'not-open';

/** Something wrong with a feature, where, and how to fix it. */
export interface FeatureProblem {
  readonly code: ProblemCode;
  /** Warnings do not prevent a run. */
  readonly severity: 'error' | 'warning';
  /** Includes the feature's folder: `auth-system/subtask_01.json`. */
  readonly file: string;
  readonly text: string;
  readonly remedy: string;
}

export function featureProblemText({ file, text, remedy }: FeatureProblem): string {
  return `${file}: ${text} ${remedy}`;
}

export function onlyErrors(problems: readonly FeatureProblem[]): FeatureProblem[] {
  return problems.filter(({ severity }) => severity === 'error');
}

export function titleOf({ name, task }: Feature): string {
  return task?.name ?? name;
}

export function progressOf({ subtasks, broken }: Feature): { done: number; total: number } {
  const done = subtasks.filter(({ status }) => status === 'completed').length;
  return { done, total: subtasks.length + broken.length };
}

/** The name of the batch that runs a feature. */
export function batchNameOf(feature: string): string {
  return `feature-${feature}`.slice(0, 100);
}
