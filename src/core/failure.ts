import type { LimitHit } from './quota.ts';

/** Why an execution failed. */
export type FailureReason =
  | 'error'
  | 'timeout'
  | 'stalled'
  | 'memory'
  | 'cpu'
  | 'crashed'
  | 'deadline'
  | 'budget';

/** The failure of one attempt, as the shell reports it. */
export interface Failure {
  readonly reason: FailureReason;
  /** Whether retrying is pointless. */
  readonly isPermanent?: boolean;
  /** How much memory the next attempt should get, in megabytes. If that does not fit, there is none. */
  readonly memoryMb?: number;
  /**
   * Whether its worker lost it, with the reason `crashed`, or gave it back before it began. It then does not count as an
   * attempt. A lost one is repeated only if it is idempotent.
   */
  readonly isLost?: boolean;
  /** Set if a quota was used up. It then does not count as an attempt. */
  readonly limit?: LimitHit;
  /** The error the tool threw, if any; opaque to the core. */
  readonly error?: unknown;
}

/** Why an execution was cancelled because of another one, whose id it gives. */
export interface CancellationCause {
  readonly event: 'fail-fast' | 'parent-failed' | 'parent-stopped';
  readonly id: string;
}

/** The reason for such a cancellation. */
export class RelatedCancellation {
  constructor(readonly because: CancellationCause) {}

  toString(): string {
    return cancellationText(this.because);
  }
}

export function cancellationText({ event, id }: CancellationCause): string {
  switch (event) {
    case 'fail-fast':
      return `${id} failed, and the group is failFast`;
    case 'parent-failed':
      return `its parent ${id} failed`;
    case 'parent-stopped':
      return `its parent ${id} was stopped`;
  }
}
