import { stripVTControlCharacters } from 'node:util';

const MAX_LENGTH = 4000;

/** What an agent says, fit to be shown and kept: without the control characters of terminals, and of bounded length. */
export function shownText(text: string): string {
  const plain = stripVTControlCharacters(text.slice(0, 4 * MAX_LENGTH))
    .replace(/[^\P{Cc}\n\t]/gu, '')
    .trim();
  return plain.length > MAX_LENGTH ? `${plain.slice(0, MAX_LENGTH)}…` : plain;
}
