import type { Completed } from '../complete.ts';
import { progressOf } from '../feature.ts';
import { subtaskOf } from '../lookup.ts';
import type { Moment } from '../state/moment.ts';
import { readySubtasks } from '../state/readiness.ts';
import { subtaskView } from '../view.ts';
import { subtaskLine } from './lines.ts';

export type CompletedAnswer = ReturnType<typeof completedAnswer>;

/** What is said when a subtask was completed: for people and models, and for programs. */
export function completedAnswer(completed: Completed, seq: string, moment: Moment) {
  const { feature, evidence, changed, isMarked } = completed;
  const subtask = subtaskOf(feature, seq);
  const { done, total } = progressOf(feature);
  const ready = readySubtasks(feature, moment).map((one) => one.seq);
  const lines = [
    `${subtaskLine(subtask)}${noteOf(changed, isMarked)}`,
    `  Progress: ${done}/${total}`,
    ...(ready.length > 0 ? [`  Can be started: ${ready.join(', ')}`] : []),
  ];
  const data = {
    feature: feature.name,
    subtask: subtaskView(subtask, moment),
    changed,
    marked: isMarked,
    evidence,
    ready,
  };
  return { text: lines.join('\n'), data };
}

function noteOf(changed: boolean, isMarked: boolean): string {
  if (!changed) return ' before: nothing was changed';
  return isMarked ? ' is done; it counts when it has been merged' : '';
}
