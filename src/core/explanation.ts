import type { ResourceName } from './demand.ts';
import type { Execution } from './execution.ts';
import type { Failure, FailureReason } from './failure.ts';
import type { ExecutionStatus } from './status.ts';

/** An execution as an explanation names it. */
export interface NamedExecution {
  readonly id: string;
  readonly toolName: string;
}

export interface NamedWithStatus extends NamedExecution {
  readonly status: ExecutionStatus;
}

/** How many executions or tools an explanation lists at most; where that may be too few, it says how many there are. */
export const MAX_LISTED = 10;

export function nameOf({ id, demand }: Execution): NamedExecution {
  return { id, toolName: demand.tool.name };
}

/** About how many queued executions go before another. */
export interface Ahead {
  /** Of those that need exactly the same. */
  readonly withSameNeeds: number;
  /** Of all that may start now. */
  readonly overall: number;
}

/** Why a queued execution does not start. */
export type QueuedReason =
  /** Nothing starts at all, or nothing of its group. */
  | { readonly reason: 'paused'; readonly group: string | undefined }
  | {
      readonly reason: 'concurrency';
      readonly running: number;
      readonly limit: number;
      readonly ahead: Ahead;
    }
  | {
      readonly reason: 'resource';
      readonly resource: ResourceName;
      readonly needed: number;
      readonly free: number;
      readonly limit: number;
      /** Whether waiting helps: not where the limit was lowered below the demand. */
      readonly isPossible: boolean;
    }
  | { readonly reason: 'tool-limit'; readonly running: number; readonly limit: number }
  | {
      readonly reason: 'group-limit';
      readonly group: string;
      readonly running: number;
      readonly limit: number;
    }
  /** The tools that are running and must not run at the same time. */
  | { readonly reason: 'conflict'; readonly conflictsWith: readonly string[] }
  | {
      readonly reason: 'lock';
      readonly lock: string;
      /** Who holds it, the first of them. Nobody does where others merely wait for it in front of this one. */
      readonly heldBy: readonly NamedExecution[];
      readonly holders: number;
      readonly ahead: number;
    }
  /** A start is allowed again after so long; `owner` is the tool or the group. */
  | { readonly reason: 'rate'; readonly owner: string; readonly allowedInMs: number }
  | { readonly reason: 'reservation'; readonly reservedFor: NamedExecution }
  /** Nothing keeps it but those who go first. */
  | { readonly reason: 'turn'; readonly ahead: Ahead };

/** Where an execution stands and why: its status, with what belongs to it. Spans are counted from now. */
export type StandingReason =
  | {
      readonly reason: 'dependencies';
      /** The first of those that have not settled. */
      readonly waitsFor: readonly NamedWithStatus[];
      readonly open: number;
      readonly total: number;
    }
  /** `roomIsKept`: it has waited so long that others may not take what it needs. */
  | (QueuedReason & { readonly roomIsKept: boolean })
  /** The next attempt starts after a pause, and not before a stopped one is gone. */
  | {
      readonly reason: 'retry-pause';
      readonly retryInMs: number;
      readonly attemptsLeft: number;
      readonly isStillStopping: boolean;
      readonly lastFailure: Failure | undefined;
    }
  | {
      readonly reason: 'running';
      readonly attempt: number;
      readonly runningForMs: number;
      /** Whether others use its room while it waits for its children. */
      readonly hasLentRoom: boolean;
      /** When it would be stopped, where there is such a limit. */
      readonly timeoutInMs: number | undefined;
      readonly stallInMs: number | undefined;
      readonly deadlineInMs: number | undefined;
    }
  | { readonly reason: 'completed'; readonly attempts: number; readonly agoMs: number }
  | {
      readonly reason: 'failed';
      readonly failure: FailureReason;
      readonly attempts: number;
      readonly agoMs: number;
    }
  | { readonly reason: 'cancelled'; readonly because: string; readonly agoMs: number }
  /** `cause` is the root; there is none where a compensation was not needed. */
  | { readonly reason: 'skipped'; readonly cause: NamedWithStatus | undefined; readonly agoMs: number };

/** Why an execution is not running, or where else it stands: as data, and as `text` for people. */
export type Explanation = NamedExecution & {
  readonly status: ExecutionStatus;
  readonly text: string;
} & StandingReason;
