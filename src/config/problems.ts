import { VolleyError } from '../core/errors.ts';
import { countText } from '../core/words.ts';
import { withoutPasswords } from './toml-text.ts';

/** A problem with the configuration. */
export interface ConfigProblem {
  /** What is wrong and what is valid, as a sentence. */
  readonly text: string;
  /** The key as written in the file, with its tables; undefined for the whole file. */
  readonly key: string | undefined;
  /** The environment variable that sets it, if not the file. */
  readonly variable: string | undefined;
  /** The position in the file, if any. */
  readonly place: FilePlace | undefined;
}

/** A range within one line; line and column start at 1. */
export interface FilePlace {
  readonly line: number;
  readonly column: number;
  readonly length: number;
}

/** The most problems shown; a file with more is probably not a configuration. */
const MAX_SHOWN = 20;
const MAX_LINE_LENGTH = 120;

/** The error that shows all problems, each with position, message and the line itself. */
export function configError(
  problems: readonly ConfigProblem[],
  file: string | undefined,
  source: string,
  cause?: unknown,
): VolleyError {
  const lines = withoutPasswords(source).split(/\r?\n/);
  const shown = inOrder(problems).slice(0, MAX_SHOWN);
  const blocks = shown.map((problem) => blockOf(problem, file, lines));
  if (problems.length > shown.length) blocks.push(`… and ${problems.length - shown.length} more.`);
  return new VolleyError(
    'INVALID_CONFIG',
    `The configuration is invalid (${countText(problems.length, 'problem')}):\n\n${blocks.join('\n\n')}`,
    {
      file,
      problems: shown.map(({ text, key, variable, place }) => ({
        text,
        key,
        variable,
        line: place?.line,
        column: place?.column,
      })),
    },
    { cause },
  );
}

/** In file order, then those of variables by name. */
function inOrder(problems: readonly ConfigProblem[]): ConfigProblem[] {
  return [...problems].sort((a, b) => {
    const [first, second] = [a.variable ?? '', b.variable ?? ''];
    if (first !== second) return first < second ? -1 : 1;
    const lines = (a.place?.line ?? 0) - (b.place?.line ?? 0);
    return lines || (a.place?.column ?? 0) - (b.place?.column ?? 0);
  });
}

function blockOf(
  { text, variable, place }: ConfigProblem,
  file: string | undefined,
  lines: string[],
): string {
  if (variable !== undefined) return `${variable}: ${text}`;
  if (place === undefined) return file === undefined ? text : `${file}: ${text}`;
  return `${file}:${place.line}:${place.column}: ${text}\n${excerpt(place, lines[place.line - 1] ?? '')}`;
}

/** The line with carets below the range, truncated around it if the line is long. */
export function excerpt({ line, column, length }: FilePlace, text: string): string {
  const from = column - 1 < MAX_LINE_LENGTH - 20 ? 0 : column - 1 - 40;
  const part = text.slice(from, from + MAX_LINE_LENGTH).replaceAll('\t', ' ');
  const before = from > 0 ? '…' : '';
  const after = from + MAX_LINE_LENGTH < text.length ? '…' : '';
  const start = column - 1 - from;
  const carets = '^'.repeat(Math.max(1, Math.min(length, part.length - start)));
  const margin = `  ${line} | `;
  return [
    `${margin}${before}${part}${after}`,
    `${' '.repeat(margin.length - 2)}| ${' '.repeat(before.length + start)}${carets}`,
  ].join('\n');
}

/** Describes why a file cannot be read. */
export function readingProblem(error: unknown): string {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return 'the file does not exist.';
    case 'EISDIR':
      return 'this is a folder, not a file.';
    case 'EACCES':
    case 'EPERM':
      return 'this user has no permission to read the file.';
    default:
      return `the file cannot be read: ${(error as Error).message}.`;
  }
}
