import type { ProcessIdentity } from '../../store/process-identity.ts';

export const SUBTASK_STATUSES = ['pending', 'in_progress', 'completed', 'blocked'] as const;
export type SubtaskStatus = (typeof SUBTASK_STATUSES)[number];

export const FEATURE_STATUSES = ['active', 'completed', 'blocked', 'archived'] as const;
type FeatureStatus = (typeof FEATURE_STATUSES)[number];

/** A file that an agent shall read, or a part of one. */
export interface FileReference {
  readonly path: string;
  /** Such as `10-50`. */
  readonly lines: string | undefined;
  readonly reason: string | undefined;
}

/** How it is shown that a subtask was done, besides its deliverables. */
export type Check =
  | {
      readonly type: 'command';
      readonly command: string;
      readonly expectExit: number;
      /** Must stand somewhere in what the command writes. */
      readonly expectText: string | undefined;
      readonly timeoutMs: number;
    }
  | { readonly type: 'file_exists'; readonly path: string }
  | { readonly type: 'file_contains'; readonly path: string; readonly text: string };

/** An agent's right to a subtask for a while. Whoever does not renew it in time loses it. */
export interface Claim {
  readonly agent: string;
  readonly heartbeatAt: number;
  readonly leaseUntil: number;
  /** The process whose end also ends the claim, if it is bound to one. */
  readonly process: ProcessIdentity | undefined;
}

/** What a `subtask_NN.json` says; what it leaves out has a default. Times are in milliseconds since 1970. */
export interface Subtask {
  /** The name of its file within the folder of the feature. */
  readonly file: string;
  readonly seq: string;
  /** What the file itself says it is; the name of the file decides. */
  readonly statedSeq: string | undefined;
  readonly id: string;
  readonly title: string;
  readonly description: string | undefined;
  readonly status: SubtaskStatus;
  /** Sequences of the same feature, each once. */
  readonly dependsOn: readonly string[];
  /** Whether others may run at the same time. */
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
  /** What an agent said of its work when it called it done, before that was brought into the project. */
  readonly marked: { readonly summary: string } | undefined;
}

/** A file that should be a subtask and cannot be read as one. It counts, and is never done. */
export interface BrokenFile {
  readonly file: string;
  readonly seq: string;
}

/** A folder of `.tmp/tasks`: its `task.json` and its subtasks in the order of their numbers. */
export interface Feature {
  /** The name of the folder. */
  readonly name: string;
  /** Undefined where `task.json` is missing or cannot be read. */
  readonly task: TaskHead | undefined;
  readonly subtasks: readonly Subtask[];
  readonly broken: readonly BrokenFile[];
  /** What was found wrong while reading. */
  readonly problems: readonly FeatureProblem[];
}

/** What a `task.json` says. */
export interface TaskHead {
  readonly id: string | undefined;
  readonly name: string;
  readonly status: FeatureStatus;
  readonly objective: string | undefined;
  readonly contextFiles: readonly FileReference[];
  readonly referenceFiles: readonly FileReference[];
  readonly exitCriteria: readonly string[];
  /** The counters as they stand there, right or wrong. */
  readonly subtaskCount: number | undefined;
  readonly completedCount: number | undefined;
  readonly completedAt: number | undefined;
}

export function titleOf({ name, task }: Feature): string {
  return task?.name ?? name;
}

/** How many subtasks there are, and how many of them are done. */
export function progressOf({ subtasks, broken }: Feature): { done: number; total: number } {
  const done = subtasks.filter(({ status }) => status === 'completed').length;
  return { done, total: subtasks.length + broken.length };
}

/** What can be wrong with a feature. */
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
  | 'inside-batch'
  | 'not-parallel'
  | 'open-dependency'
  | 'not-open';

/** One thing that is wrong, where, and what to do. */
export interface FeatureProblem {
  readonly code: ProblemCode;
  /** A warning holds nothing up. */
  readonly severity: 'error' | 'warning';
  /** With the folder of the feature: `auth-system/subtask_01.json`. */
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

/** The batch that a feature runs as. */
export function batchNameOf(feature: string): string {
  return `feature-${feature}`.slice(0, 100);
}
