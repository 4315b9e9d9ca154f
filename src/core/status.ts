/**
 * The states of an execution and their transitions. `docs/states.md` shows the table, and a test fails if the two
 * differ.
 *
 * Inside the core, statuses are small integers because they are compared on every step. The public API uses their
 * names.
 */

export const STATUS_NAMES = [
  'pending',
  'queued',
  'running',
  'retrying',
  'completed',
  'failed',
  'cancelled',
  'skipped',
] as const;

/** The status of an execution; see the transition table in `docs/states.md`. */
export type ExecutionStatus = (typeof STATUS_NAMES)[number];

export const Status = {
  pending: 0,
  queued: 1,
  running: 2,
  retrying: 3,
  completed: 4,
  failed: 5,
  cancelled: 6,
  skipped: 7,
} as const satisfies Record<ExecutionStatus, number>;

export type StatusCode = (typeof Status)[ExecutionStatus];

interface Transition {
  readonly from: ExecutionStatus;
  readonly to: ExecutionStatus;
  readonly when: string;
}

export const TRANSITIONS: readonly Transition[] = [
  { from: 'pending', to: 'queued', when: 'dependencies are settled and allow it' },
  { from: 'pending', to: 'skipped', when: 'a dependency rules it out' },
  { from: 'pending', to: 'cancelled', when: 'cancelled' },
  { from: 'pending', to: 'failed', when: 'deadline, or refused when it was submitted' },
  { from: 'queued', to: 'running', when: 'there is room' },
  { from: 'queued', to: 'cancelled', when: 'cancelled' },
  { from: 'queued', to: 'failed', when: 'deadline, or refused when it was submitted' },
  { from: 'running', to: 'completed', when: 'the attempt succeeded' },
  { from: 'running', to: 'retrying', when: 'the attempt failed, a retry is left' },
  { from: 'running', to: 'failed', when: 'the attempt failed, no retry is left' },
  { from: 'running', to: 'cancelled', when: 'cancelled' },
  { from: 'retrying', to: 'queued', when: 'the pause is over' },
  { from: 'retrying', to: 'cancelled', when: 'cancelled' },
  { from: 'retrying', to: 'failed', when: 'deadline' },
];

/** The allowed next statuses of each status, as a bit mask. */
export const ALLOWED: readonly number[] = STATUS_NAMES.map((from) =>
  TRANSITIONS.filter((transition) => transition.from === from).reduce(
    (mask, transition) => mask | (1 << Status[transition.to]),
    0,
  ),
);

export function isSettled(status: StatusCode): boolean {
  return status >= Status.completed;
}
