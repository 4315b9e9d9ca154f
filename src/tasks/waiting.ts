import type { Feature, Subtask } from './feature.ts';
import type { Moment } from './state/moment.ts';
import { openDependencies, statusNow } from './state/readiness.ts';

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
    const isWaiting = statusNow(subtask, moment) === 'pending' && waitsFor.length > 0;
    return isWaiting ? [{ subtask, reason: undefined, waitsFor }] : [];
  });
}
