import { excerpt, type Place } from '../../config/problems.ts';
import { VolleyError } from '../../core/errors.ts';

/** A text that is being read, and what it is called in messages. */
export interface Source {
  /** The path as it was given, or `standard input`. */
  readonly name: string;
  readonly text: string;
}

/** The error for a file of tasks: the file, the line and column if there are any, what is wrong, and the line itself. */
export function taskFileError(source: Source, what: string, place?: Place, cause?: unknown): VolleyError {
  const { name, text } = source;
  if (place === undefined) {
    return new VolleyError('INVALID_TASK_FILE', `${name}: ${what}`, { file: name }, { cause });
  }
  const { line, column } = place;
  const shown = excerpt(place, lineOf(text, line));
  return new VolleyError(
    'INVALID_TASK_FILE',
    `${name}:${line}:${column}: ${what}\n${shown}`,
    { file: name, line, column },
    { cause },
  );
}

/** The line and column of a place in the text. */
export function placeAt(text: string, offset: number): Place {
  let line = 1;
  let start = 0;
  for (let end = text.indexOf('\n'); end >= 0 && end < offset; end = text.indexOf('\n', start)) {
    line++;
    start = end + 1;
  }
  return { line, column: offset - start + 1, length: 1 };
}

function lineOf(text: string, wanted: number): string {
  let start = 0;
  for (let line = 1; line < wanted; line++) {
    const end = text.indexOf('\n', start);
    if (end < 0) return '';
    start = end + 1;
  }
  const end = text.indexOf('\n', start);
  const line = text.slice(start, end < 0 ? undefined : end).replace(/\r$/, '');
  // One for one, so that the place below it stays right, and the file cannot control the terminal.
  return line.replace(/\p{Cc}/gu, (character) => (character === '\t' ? ' ' : '\ufffd'));
}
