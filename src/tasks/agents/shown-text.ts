import { printableText } from '../../core/printable-text.ts';

const MAX_LENGTH = 4000;

/** What an agent says, fit to be shown and kept: without the control characters of terminals, and of bounded length. */
export function shownText(text: string): string {
  const plain = printableText(text.slice(0, 4 * MAX_LENGTH)).trim();
  return plain.length > MAX_LENGTH ? `${plain.slice(0, MAX_LENGTH)}…` : plain;
}
