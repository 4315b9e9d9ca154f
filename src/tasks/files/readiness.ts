import type { ProcessIdentity } from '../../store/process-identity.ts';
import type { Feature, Subtask, SubtaskStatus } from './feature.ts';

/** What decisions must know of the world. */
export interface Moment {
  /** In milliseconds since 1970. */
  readonly now: number;
  /** Whether a process is certainly gone. */
  isGone(process: ProcessIdentity): boolean;
}

export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** Whether somebody holds the subtask: the lease runs, and the process it is bound to may live. */
export function isHeld({ claim }: Subtask, { now, isGone }: Moment): boolean {
  if (claim === undefined || claim.leaseUntil <= now) return false;
  return claim.process === undefined || !isGone(claim.process);
}

/** The status that counts: what was claimed by somebody who is gone is free again. */
export function effectiveStatus(subtask: Subtask, moment: Moment): SubtaskStatus {
  const isLost = subtask.status === 'in_progress' && subtask.claim !== undefined && !isHeld(subtask, moment);
  return isLost ? 'pending' : subtask.status;
}

/** What it still waits for: sequences that are not done, also those that nobody has. */
export function openDependencies(feature: Feature, { dependsOn }: Subtask): string[] {
  return dependsOn.filter((seq) => !isDone(feature, seq));
}

/** The subtasks that could be started now, in their order. */
export function readySubtasks(feature: Feature, moment: Moment): Subtask[] {
  const done = new Set(feature.subtasks.filter(({ status }) => status === 'completed').map(({ seq }) => seq));
  return feature.subtasks.filter(
    (subtask) =>
      effectiveStatus(subtask, moment) === 'pending' && subtask.dependsOn.every((seq) => done.has(seq)),
  );
}

function isDone({ subtasks }: Feature, seq: string): boolean {
  const found = subtasks.filter((one) => one.seq === seq);
  return found.length > 0 && found.every(({ status }) => status === 'completed');
}

/** A subtask that cannot be started, and why. */
export interface Waiting {
  readonly subtask: Subtask;
  /** Why it is blocked; undefined if it only waits. */
  readonly reason: string | undefined;
  readonly waitsFor: readonly string[];
}

/** What is blocked, and what waits for something that is not done. */
export function waitingSubtasks(feature: Feature, moment: Moment): Waiting[] {
  return feature.subtasks.flatMap((subtask): Waiting[] => {
    const waitsFor = openDependencies(feature, subtask);
    if (subtask.status === 'blocked') {
      return [{ subtask, reason: subtask.blockedReason ?? 'no reason was given', waitsFor }];
    }
    const isWaiting = effectiveStatus(subtask, moment) === 'pending' && waitsFor.length > 0;
    return isWaiting ? [{ subtask, reason: undefined, waitsFor }] : [];
  });
}
