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
  /** Whether trying again is pointless. */
  readonly isPermanent?: boolean;
  /** What the tool threw, if it did; opaque to the core. */
  readonly error?: unknown;
}

/** Why a failFast group is cancelled. */
export class GroupFailed {
  constructor(
    /** The id of the execution that failed. */
    readonly failed: string,
  ) {}

  toString(): string {
    return `${this.failed} failed, and the group is failFast`;
  }
}
