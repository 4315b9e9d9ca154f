import { printableLine } from '../../core/printable-text.ts';
import { countText, spanText } from '../../core/words.ts';
import type { Colours } from '../output/colours.ts';
import { cutToWidth } from '../output/width.ts';
import type { CompletedTask, FailedTask } from './view.ts';

/** A name and a message are shown so far; the whole stands in the results. */
const LONGEST_NAME = 120;
const LONGEST_MESSAGE = 400;

/** `✗ name (function): timeout: message, after 3 attempts`. */
export function failedLine(task: FailedTask, colours: Colours): string {
  const line = `${colours.red('✗')} ${nameText(task, colours)}: ${causeText(task, LONGEST_MESSAGE)}`;
  if (task.attempts < 2) return line;
  // The sentence goes on.
  return `${line.replace(/\.$/, '')}${colours.dim(`, after ${countText(task.attempts, 'attempt')}`)}`;
}

/** `✓ name (function) 1.2 s`. */
export function completedLine(task: CompletedTask, colours: Colours): string {
  return `${colours.green('✓')} ${nameText(task, colours)} ${colours.dim(spanText(task.durationMs))}`;
}

/** The reason and the message, or the message alone where the reason adds nothing. */
export function causeText(
  { reason, message }: Pick<FailedTask, 'reason' | 'message'>,
  longest: number,
): string {
  const words = cutToWidth(printableLine(message), longest);
  if (words === '' || words === reason) return reason;
  return reason === 'error' ? words : `${reason}: ${words}`;
}

function nameText(task: { readonly name: string; readonly function: string }, colours: Colours): string {
  const name = cutToWidth(printableLine(task.name), LONGEST_NAME);
  const functionName = cutToWidth(printableLine(task.function), LONGEST_NAME);
  return name === functionName ? name : `${name} ${colours.dim(`(${functionName})`)}`;
}
