import type { ResourceRequirements } from '../core/demand.ts';
import type { FailureReason } from '../core/failure.ts';
import type { Priority } from '../core/priority.ts';
import type { RetryOptions } from '../core/retry.ts';
import type { DependencyPolicy } from '../core/terms.ts';

/** How many characters the id of a call may have. */
export const LONGEST_CALL_ID = 128;

/** One call of a tool. What is left out is as the tool or the configuration says. */
export interface ToolCall {
  readonly id?: string;
  readonly name: string;
  /** May hold references to the results of other calls. */
  readonly arguments?: unknown;
  /**
   * Why there are no arguments to speak of, such as `not valid JSON: …`: a provider sent what cannot be read. The call
   * fails with this text and is never started, and the others go on.
   */
  readonly invalid?: string;
  /** Ids of calls that must settle first, besides those that the arguments refer to. */
  readonly dependsOn?: readonly string[];
  readonly onDependencyFailure?: DependencyPolicy;
  readonly priority?: Priority;
  readonly timeoutMs?: number;
  readonly stallMs?: number;
  readonly deadlineMs?: number;
  readonly retry?: RetryOptions;
  readonly resources?: ResourceRequirements;
}

interface CallResultBase {
  readonly id: string;
  readonly name: string;
  /** How many attempts were started. */
  readonly attempts: number;
  readonly waitedMs: number;
  readonly durationMs: number;
  /** The id of the identical call whose result this is. */
  readonly sharedWith?: string;
  /** Possible mistakes in its arguments, such as a placeholder that is not a reference. */
  readonly warnings?: readonly string[];
}

/** What can leave the process of an error: redacted, bounded. */
export interface CallError {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly stack?: string;
}

/** How a call ended. */
export type CallResult<T = unknown> = CallResultBase &
  (
    | { readonly status: 'completed'; readonly value: T }
    | { readonly status: 'failed'; readonly reason: FailureReason; readonly error: CallError }
    | { readonly status: 'cancelled'; readonly reason: string }
    | {
        readonly status: 'skipped';
        /** The id of the call that is the root cause. */
        readonly cause: string | undefined;
      }
  );
