import type { ProcessIdentity } from '../../store/process-identity.ts';
import type { Feature, Subtask, SubtaskStatus } from './feature.ts';

/** The outside facts that decisions depend on. */
export interface Moment {
  /** In milliseconds since 1970. */
  readonly now: number;
  /** Whether a process has certainly ended. */
  isGone(process: ProcessIdentity): boolean;
}

/** A subtask that cannot start, and why. */
export interface Waiting {
  readonly subtask: Subtask;
  /** Why it is blocked; undefined if it only waits. */
  readonly reason: string | undefined;
  readonly waitsFor: readonly string[];
}

export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** Whether a claim holds: its lease has not expired and its process may still be running. */
export function isHeld({ claim }: Subtask, { now, isGone }: Moment): boolean {
  if (claim === undefined || claim.leaseUntil <= now) return false;
  return claim.process === undefined || !isGone(claim.process);
}

/** The status, except that a subtask whose claim has lapsed is pending again. */
export function effectiveStatus(subtask: Subtask, moment: Moment): SubtaskStatus {
  const isLost = subtask.status === 'in_progress' && subtask.claim !== undefined && !isHeld(subtask, moment);
  return isLost ? 'pending' : subtask.status;
}

/** Dependencies that are not completed, including ones that do not exist. */
export function openDependencies({ subtasks }: Feature, { dependsOn }: Subtask): string[] {
  if (dependsOn.length === 0) return [];
  return dependsOn.filter((seq) => {
    const found = subtasks.filter((one) => one.seq === seq);
    return found.length === 0 || found.some(({ status }) => status !== 'completed');
  });
}

/** The subtasks that can start now. */
export function readySubtasks(feature: Feature, moment: Moment): Subtask[] {
  const done = new Set(feature.subtasks.filter(({ status }) => status === 'completed').map(({ seq }) => seq));
  return feature.subtasks.filter(
    (subtask) =>
      effectiveStatus(subtask, moment) === 'pending' && subtask.dependsOn.every((seq) => done.has(seq)),
  );
}

/** Subtasks that are blocked or wait for unfinished dependencies. */
export function waitingSubtasks(feature: Feature, moment: Moment): Waiting[] {
  return feature.subtasks.flatMap((subtask): Waiting[] => {
    const waitsFor = openDependencies(feature, subtask);
    if (subtask.status === 'blocked')
      return [{ subtask, reason: subtask.blockedReason ?? 'no reason given', waitsFor }];
    const isWaiting = effectiveStatus(subtask, moment) === 'pending' && waitsFor.length > 0;
    return isWaiting ? [{ subtask, reason: undefined, waitsFor }] : [];
  });
}
