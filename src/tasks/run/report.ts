import type { AgentUsage } from '../agents/adapter.ts';

/** What became of a subtask in a run. */
export interface SubtaskReport {
  readonly seq: string;
  readonly title: string;
  /** `left` was not begun, or was interrupted, and is run by the next run. */
  readonly status: 'completed' | 'failed' | 'skipped' | 'left';
  readonly agent: string | null;
  /** Why it failed: `error`, `timeout`, `stalled`, `crashed`, `budget`. */
  readonly reason: string | null;
  readonly error: string | null;
  /** The subtask because of which it was skipped. */
  readonly skipped_because: string | null;
  readonly summary: string | null;
  readonly deliverables: readonly string[];
  /** Whether it names anything by which its work could be verified, and that was found. */
  readonly verified: boolean;
  readonly evidence: readonly { readonly subject: string; readonly ok: boolean; readonly text: string }[];
  /** What the agent said last. It is noted, and proves nothing. */
  readonly word: string | null;
  readonly discrepancy: string | null;
  readonly touched: readonly string[];
  readonly outside_deliverables: readonly string[];
  readonly denied: readonly string[];
  readonly conflicts: readonly string[];
  readonly branch: string | null;
  /** Where work is kept that was not brought in. */
  readonly kept: string | null;
  readonly attempts: number;
  readonly duration_ms: number;
  readonly usage: AgentUsage;
}

/** What a run came to, as it is kept beside the tasks. */
export interface RunReport {
  readonly feature: string;
  readonly name: string;
  readonly status: 'completed' | 'partial' | 'failed' | 'stopped' | 'nothing';
  /** The number of the batch, where it was one. */
  readonly batch: number | null;
  readonly explicit: boolean;
  readonly worktrees: boolean;
  /** The words of the command line that ask for the same of other subtasks. */
  readonly options: readonly string[];
  readonly started_at: string;
  readonly ended_at: string;
  readonly duration_ms: number;
  readonly subtasks: readonly SubtaskReport[];
  /** Of what was asked for, what was done before. */
  readonly done_before: readonly string[];
  /** What is open and could not be run. */
  readonly left_out: readonly { readonly seq: string; readonly why: string }[];
  /** What is not committed in the project itself and was not there before, though agents worked in worktrees. */
  readonly changed_in_project: readonly string[];
  readonly statistics: {
    readonly total: number;
    readonly completed: number;
    readonly failed: number;
    readonly skipped: number;
    readonly left: number;
    /** In percent. */
    readonly success_rate: number;
    readonly attempts: number;
    /** The time of all agents together. */
    readonly work_ms: number;
    readonly usage: AgentUsage;
  };
  readonly next: {
    readonly feature_completed: boolean;
    /** What can be started now and at once. */
    readonly ready: readonly string[];
    readonly batch: number | null;
    readonly depends_on: readonly string[];
    /** What to type. */
    readonly command: string | null;
  };
}
