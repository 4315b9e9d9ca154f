import { printableText } from '../../core/printable-text.ts';

/** The end of what a program wrote, as text: colours and the like are for a terminal that a report is not. */
export function outputEnd(output: string, length: number): string {
  const text = printableText(output).trim();
  return text.length > length ? `…${text.slice(-length)}` : text;
}
