import type { Feature } from '../feature.ts';
import { subtaskOf } from '../lookup.ts';
import { type Change, checkText, refused } from './change.ts';
import { type Moment, timeText } from './moment.ts';

/**
 * Notes that an agent calls a subtask done whose work is not in the project yet, but in a workspace of its own. It is
 * completed by whoever brings the work in.
 */
export function markSubtask(
  feature: Feature,
  request: { readonly seq: string; readonly summary: string },
  { now }: Moment,
): Change {
  checkText('summary', request.summary);
  const subtask = subtaskOf(feature, request.seq);
  if (subtask.status !== 'in_progress')
    throw refused(feature, subtask, `is ${subtask.status}: nobody waits for its work any more.`);
  return { file: subtask.file, fields: { marked: { at: timeText(now), summary: request.summary } } };
}
