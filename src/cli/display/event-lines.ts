import { printableLine } from '../../core/printable-text.ts';
import { countText, spanText } from '../../core/words.ts';
import type { Colors } from '../output/colors.ts';
import { cutToWidth } from '../output/text-layout.ts';
import type { DisplayedCompletion, DisplayedFailure } from './view.ts';

/** The results have the full text. */
const MAX_NAME_WIDTH = 120;
const MAX_MESSAGE_WIDTH = 400;

/** `✗ name (function): timeout: message, after 3 attempts`. */
export function failedLine(task: DisplayedFailure, colors: Colors): string {
  const line = `${colors.red('✗')} ${nameText(task, colors)}: ${causeText(task, MAX_MESSAGE_WIDTH)}`;
  if (task.attempts < 2) return line;
  return `${line.replace(/\.$/, '')}${colors.dim(`, after ${countText(task.attempts, 'attempt')}`)}`;
}

/** `✓ name (function) 1.2 s`, or `from cache` in place of the time. */
export function completedLine(task: DisplayedCompletion, colors: Colors): string {
  return `${colors.green('✓')} ${nameText(task, colors)} ${colors.dim(task.cached ? 'from cache' : spanText(task.durationMs))}`;
}

/** The reason and the message, or only the message where the reason adds nothing. */
export function causeText(
  { reason, message }: Pick<DisplayedFailure, 'reason' | 'message'>,
  maxWidth: number,
): string {
  const words = cutToWidth(printableLine(message), maxWidth);
  if (words === '' || words === reason) return reason;
  return reason === 'error' ? words : `${reason}: ${words}`;
}

function nameText(task: { readonly name: string; readonly function: string }, colors: Colors): string {
  const name = cutToWidth(printableLine(task.name), MAX_NAME_WIDTH);
  const functionName = cutToWidth(printableLine(task.function), MAX_NAME_WIDTH);
  return name === functionName ? name : `${name} ${colors.dim(`(${functionName})`)}`;
}
