import { printableText } from '../../core/printable-text.ts';

// Separate from the rest of the layout, so that a message loads no tables of widths.

/** Breaks a string between words and indents all lines but the first. */
export function wrapWords(
  text: string,
  columns: number,
  indent: number,
  widthOf: (word: string) => number,
): string {
  const lines: string[] = [];
  let line = '';
  let width = 0;
  for (const word of text.split(/ +/)) {
    const own = widthOf(word);
    if (line !== '' && width + 1 + own > columns - indent) {
      lines.push(line);
      line = word;
      width = own;
    } else {
      line = line === '' ? word : `${line} ${word}`;
      width += own + (width > 0 ? 1 : 0);
    }
  }
  return [...lines, line].join(`\n${' '.repeat(indent)}`);
}

/** A line of source that a message quotes, or the marker below it. */
const QUOTED_SOURCE = /^\s*\d*\s*\|/;

/** Breaks the lines of a message that are too long. Each keeps its indentation, and quoted source stays as it is. */
export function wrapMessage(text: string, columns: number): string {
  const widthOf = (part: string) => printableText(part).length;
  return text
    .split('\n')
    .map((line) => {
      if (widthOf(line) <= columns || QUOTED_SOURCE.test(line)) return line;
      const [indent] = /^ */.exec(line)!;
      return indent + wrapWords(line.slice(indent.length), columns, indent.length, widthOf);
    })
    .join('\n');
}
