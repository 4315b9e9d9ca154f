import { stripVTControlCharacters } from 'node:util';

/** The end of what a program wrote, as text: colours and the like are for a terminal that a report is not. */
export function outputEnd(output: string, length: number): string {
  const text = stripVTControlCharacters(output)
    .replace(/[^\P{Cc}\n]/gu, ' ')
    .trim();
  return text.length > length ? `…${text.slice(-length)}` : text;
}
