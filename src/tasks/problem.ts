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
export interface Problem {
  readonly code: ProblemCode;
  /** A warning holds nothing up. */
  readonly severity: 'error' | 'warning';
  /** With the folder of the feature: `auth-system/subtask_01.json`. */
  readonly file: string;
  readonly text: string;
  readonly remedy: string;
}

export function problemText({ file, text, remedy }: Problem): string {
  return `${file}: ${text} ${remedy}`;
}

export function errorsOf(problems: readonly Problem[]): Problem[] {
  return problems.filter(({ severity }) => severity === 'error');
}
