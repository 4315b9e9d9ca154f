import { oneLine } from '../../batch/text.ts';
import type { Subtask, SubtaskStatus } from '../feature.ts';

const MARKS: Readonly<Record<SubtaskStatus, string>> = {
  completed: '✓',
  in_progress: '◐',
  pending: '○',
  blocked: '✗',
};
const LONGEST_TITLE = 200;

/** `✓ 01 - Set up the project [completed]` */
export function subtaskLine(subtask: Subtask): string {
  return `${MARKS[subtask.status]} ${plainLine(subtask)}`;
}

/** The same without its mark. */
export function plainLine({ seq, title, status }: Subtask): string {
  return `${oneLine(seq, 20)} - ${shortTitle(title)} [${status}]`;
}

export function shortTitle(title: string): string {
  return oneLine(title, LONGEST_TITLE);
}
