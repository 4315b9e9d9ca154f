import { spanText } from '../../core/words.ts';
import { type Feature, progressOf, type Subtask, titleOf } from '../feature.ts';
import { problemText } from '../problem.ts';
import type { Moment } from '../state/moment.ts';
import { isHeld } from '../state/readiness.ts';
import { shortTitle, subtaskLine } from './lines.ts';

/** How a feature stands: its name, its progress, and a line for each subtask. */
export function statusText(feature: Feature, moment: Moment): string {
  const { name, task, subtasks, broken, problems } = feature;
  const { done, total } = progressOf(feature);
  const unreadable = problems.filter(({ code }) => code === 'unreadable');
  return [
    `[${name}] ${shortTitle(titleOf(feature))}`,
    `  Status: ${task?.status ?? 'active'} | Progress: ${percentOf(done, total)}% (${done}/${total})`,
    '  ',
    '  Subtasks:',
    ...subtasks.map((subtask) => `  ${subtaskLine(subtask)}${noteOf(subtask, moment)}`),
    ...broken.map(({ seq, file }) => `  ! ${seq} - ${file} [unreadable]`),
    ...(unreadable.length > 0
      ? ['  ', '  Problems:', ...unreadable.map((one) => `  ! ${problemText(one)}`)]
      : []),
  ].join('\n');
}

/** 100 only when all is done. */
function percentOf(done: number, total: number): number {
  if (done === total) return total === 0 ? 0 : 100;
  return Math.min(99, Math.round((100 * done) / total));
}

/** Only where somebody who had it is gone. */
function noteOf(subtask: Subtask, moment: Moment): string {
  const { claim, status } = subtask;
  if (status !== 'in_progress' || claim === undefined || isHeld(subtask, moment)) return '';
  const ago = spanText(Math.max(0, moment.now - claim.heartbeatAt));
  return ` (free again: ${claim.agent} was last heard of ${ago} ago)`;
}
