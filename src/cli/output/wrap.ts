import { printableLine } from '../../core/printable-text.ts';
import { textWidth } from './width.ts';

/** The text in lines of at most so many columns, broken between words only. Colours take no room. */
function wrapWords(text: string, columns: number): string[] {
  const lines: string[] = [];
  let line = '';
  let width = 0;
  for (const word of text.split(/ +/)) {
    const own = textWidth(printableLine(word));
    if (line !== '' && width + 1 + own > columns) {
      lines.push(line);
      line = word;
      width = own;
    } else {
      line = line === '' ? word : `${line} ${word}`;
      width += own + (width > 0 ? 1 : 0);
    }
  }
  return [...lines, line];
}

/** The same as one text, whose lines after the first are indented. */
export function wrapHanging(text: string, columns: number, indent: number): string {
  return wrapWords(text, columns - indent).join(`\n${' '.repeat(indent)}`);
}
