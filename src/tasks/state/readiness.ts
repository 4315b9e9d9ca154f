import type { Feature, Subtask, SubtaskStatus } from '../feature.ts';
import type { Moment } from './moment.ts';

/** Whether somebody holds the subtask: the lease runs, and the process it is bound to may live. */
export function isHeld({ claim }: Subtask, { now, isGone }: Moment): boolean {
  if (claim === undefined || claim.leaseUntil <= now) return false;
  return claim.process === undefined || !isGone(claim.process);
}

/** The status that counts: what was claimed by somebody who is gone is free again. */
export function statusNow(subtask: Subtask, moment: Moment): SubtaskStatus {
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
    (subtask) => statusNow(subtask, moment) === 'pending' && subtask.dependsOn.every((seq) => done.has(seq)),
  );
}

function isDone({ subtasks }: Feature, seq: string): boolean {
  const found = subtasks.filter((one) => one.seq === seq);
  return found.length > 0 && found.every(({ status }) => status === 'completed');
}
