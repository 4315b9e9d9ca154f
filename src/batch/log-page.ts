import { setImmediate as nextTurn } from 'node:timers/promises';
import { VolleyError } from '../core/errors.ts';
import { listText } from '../core/words.ts';
import type { KeptOutput, OutputLine, OutputStreamName } from '../store/records.ts';
import type { OutputPage } from '../store/store.ts';

/** The most lines of a page, and about the most of their characters. */
export const MAX_LOG_LINES = 5000;
const MAX_CHARACTERS = 2 ** 20;
/** How much one request searches at most: some 50 ms. */
const MAX_SEARCHED = 8 * 2 ** 20;

/** A line of a log, with its number in the attempt. */
interface LogLine extends OutputLine {
  readonly line: number;
}

/** What to read of a log. */
export interface LogQuery {
  /** The attempt, counted over all runs. Default: the last one that printed something. */
  readonly attempt?: number | undefined;
  /** The first line to read. Default: the last ones. */
  readonly from?: number | undefined;
  readonly limit: number;
  /** Only lines that contain this text, in upper or lower case. */
  readonly search?: string | undefined;
}

/** A part of the log of one attempt. */
export interface LogPage {
  /** 0 if nothing was printed. */
  readonly attempt: number;
  /** All attempts that have a log. */
  readonly attempts: readonly number[];
  /** The first line that is kept; earlier ones were dropped. */
  readonly firstLine: number;
  /** How many lines were printed so far. */
  readonly endLine: number;
  readonly lines: readonly LogLine[];
  /** Where the next page begins: the first line that this page has not looked at. */
  readonly next: number;
}

/** Where the lines of a log are: in the store, or in the transcript of an agent. */
export interface LogSource {
  /** How errors call it, such as `Task "a" of the batch "b"`. */
  readonly name: string;
  /** The attempts that have a log, in order. */
  attempts(): Promise<readonly number[]>;
  /** Which lines of an attempt are kept. */
  extent(attempt: number): Promise<Pick<KeptOutput, 'firstLine' | 'endLine'>>;
  /** Some lines from a number on, or from the first that is kept. */
  read(attempt: number, fromLine: number): Promise<OutputPage | undefined>;
}

/** Reads a part of a log. The work is bounded, however long the log is. */
export async function readLog(source: LogSource, query: LogQuery): Promise<LogPage> {
  const attempts = await source.attempts();
  const { attempt = attempts.at(-1) } = query;
  if (attempt === undefined) return { attempt: 0, attempts, firstLine: 0, endLine: 0, lines: [], next: 0 };
  if (!attempts.includes(attempt)) throw noAttempt(source.name, attempt, attempts);
  const { firstLine, endLine } = await source.extent(attempt);
  const needle = query.search?.toLowerCase();
  const isSearch = needle !== undefined && needle !== '';
  const start = query.from ?? (isSearch ? firstLine : endLine - query.limit);
  const lines: LogLine[] = [];
  let next = Math.max(firstLine, start);
  for (let seen = 0, size = 0; lines.length < query.limit && size < MAX_CHARACTERS && seen < MAX_SEARCHED; ) {
    const part = await source.read(attempt, next);
    if (part === undefined) break;
    let line = part.firstLine;
    for (const one of part.lines) {
      if (lines.length >= query.limit) break;
      seen += one.text.length + 1;
      if (!isSearch || one.text.toLowerCase().includes(needle)) {
        lines.push({ line, ...one });
        size += one.text.length;
      }
      line++;
    }
    next = line;
    await nextTurn();
  }
  return { attempt, attempts, firstLine, endLine: Math.max(endLine, next), lines, next };
}

/** Marks of the streams for people. What was printed to stdout or logged has none. */
const MARKS: Readonly<Record<OutputStreamName, string>> = {
  stdout: '  ',
  stderr: '! ',
  log: '  ',
  step: '» ',
};

/** A line for people: the time of day, a mark of its stream, and the text. */
export function logLineText({ at, stream, text }: OutputLine): string {
  return `${new Date(at).toISOString().slice(11, 23)} ${MARKS[stream]}${text}`;
}

/** What is left out before a page, in words. */
export function droppedText({ firstLine }: Pick<LogPage, 'firstLine'>): string | undefined {
  return firstLine === 0
    ? undefined
    : `(The first ${firstLine} lines were dropped: the log reached its limit.)`;
}

function noAttempt(name: string, attempt: number, known: readonly number[]): VolleyError {
  const hint =
    known.length === 0 ? 'It has printed nothing.' : `Attempts with a log: ${listText(known.map(String))}.`;
  return new VolleyError('INVALID_VALUE', `${name} has no log of attempt ${attempt}. ${hint}`, {
    attempts: known,
  });
}
