import { excerpt, type FilePlace } from '../../config/problems.ts';
import { VolleyError } from '../../core/errors.ts';

/** A text with tasks. */
export interface TaskSource {
  /** The path as the user wrote it, or `standard input`. */
  readonly name: string;
  readonly text: string;
  /** Where the text begins, if it is a part of a large file. */
  readonly origin?: Pick<FilePlace, 'line' | 'column'>;
}

/** A place of the text in its file. */
export function placeInSource(
  { origin = { line: 1, column: 1 } }: Pick<TaskSource, 'origin'>,
  place: FilePlace,
): FilePlace {
  const { line, column, length } = place;
  return {
    line: origin.line + line - 1,
    column: line === 1 ? origin.column + column - 1 : column,
    length,
  };
}

/** An error in a task file: `FILE:LINE:COLUMN: problem` and the line itself. */
export function taskFileError(
  source: Pick<TaskSource, 'name'> & Partial<TaskSource>,
  problem: string,
  place?: FilePlace,
  cause?: unknown,
): VolleyError {
  const { name, text = '' } = source;
  if (place === undefined) {
    return new VolleyError('INVALID_TASK_FILE', `${name}: ${problem}`, { file: name }, { cause });
  }
  const { line, column } = placeInSource(source, place);
  const shown = excerpt({ ...place, line }, lineAt(text, place.line));
  return new VolleyError(
    'INVALID_TASK_FILE',
    `${name}:${line}:${column}: ${problem}\n${shown}`,
    { file: name, line, column },
    { cause },
  );
}

/** The line and column of an offset. */
export function placeAt(text: string, offset: number): FilePlace {
  let line = 1;
  let start = 0;
  for (let end = text.indexOf('\n'); end >= 0 && end < offset; end = text.indexOf('\n', start)) {
    line++;
    start = end + 1;
  }
  return { line, column: offset - start + 1, length: 1 };
}

function lineAt(text: string, wanted: number): string {
  let start = 0;
  for (let line = 1; line < wanted; line++) {
    const end = text.indexOf('\n', start);
    if (end < 0) return '';
    start = end + 1;
  }
  const end = text.indexOf('\n', start);
  const line = text.slice(start, end < 0 ? undefined : end).replace(/\r$/, '');
  // Character for character, so that the marker below stays right.
  return line.replace(/\p{Cc}/gu, (character) => (character === '\t' ? ' ' : '\ufffd'));
}
