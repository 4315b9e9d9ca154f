import { VolleyError } from '../../core/errors.ts';
import { findInexactNumber, inexactText, pathText } from '../../core/json-numbers.ts';
import { placeAt, type Source, taskFileError } from './fault.ts';
import { findJsonFault } from './json-fault.ts';
import { JsonPlaces } from './json-places.ts';
import type { Parsed } from './parse.ts';

export function parseJson(source: Source): Parsed {
  const { text } = source;
  try {
    const data: unknown = JSON.parse(text);
    checkNumbers(source, text, 1);
    const places = new JsonPlaces(text);
    return { data, placeOf: (path) => places.find(path) };
  } catch (error) {
    if (error instanceof VolleyError) throw error;
    const { offset, what } = findJsonFault(text);
    const hint = isLines(text) ? ' One task on each line is JSON Lines: name the file .jsonl.' : '';
    throw taskFileError(source, `this is not valid JSON: ${what}.${hint}`, placeAt(text, offset), error);
  }
}

/** A value on each line; empty lines are passed over. */
export function parseJsonLines(source: Source): Parsed {
  const data: unknown[] = [];
  const lines: { readonly line: number; readonly text: string }[] = [];
  let line = 0;
  for (let start = 0; start <= source.text.length; ) {
    const end = source.text.indexOf('\n', start);
    const text = source.text.slice(start, end < 0 ? undefined : end);
    line++;
    if (text.trim() !== '') {
      data.push(parseLine(source, text, line));
      lines.push({ line, text });
    }
    if (end < 0) break;
    start = end + 1;
  }
  return {
    data,
    placeOf: ([index, ...path]) => {
      const own = typeof index === 'number' ? lines[index] : undefined;
      if (own === undefined) return undefined;
      const { column, length } = new JsonPlaces(own.text).find(path) ?? { column: 1, length: 1 };
      return { line: own.line, column, length };
    },
  };
}

function parseLine(source: Source, text: string, line: number): unknown {
  try {
    const data: unknown = JSON.parse(text);
    checkNumbers(source, text, line);
    return data;
  } catch (error) {
    if (error instanceof VolleyError) throw error;
    const { offset, what } = findJsonFault(text);
    const place = { line, column: offset + 1, length: 1 };
    const hint =
      text.trim() === '[' || text.trim() === '{'
        ? ' Each line is a whole task: name the file .json if it is not so.'
        : '';
    throw taskFileError(source, `this line is not valid JSON: ${what}.${hint}`, place, error);
  }
}

/** Refuses what is no longer the same number once it was read. The text begins on the given line of the source. */
function checkNumbers(source: Source, text: string, firstLine: number): void {
  const found = findInexactNumber(text);
  if (found === undefined) return;
  const { line, column } = placeAt(text, found.offset);
  const place = { line: firstLine + line - 1, column, length: found.text.length };
  const where = found.path.length === 0 ? '' : `${pathText(found.path)}: `;
  throw taskFileError(source, `${where}${inexactText(found.text)}.`, place);
}

function isLines(text: string): boolean {
  const lines = text.trim().split('\n', 2);
  if (lines.length < 2) return false;
  try {
    for (const line of lines) if (typeof JSON.parse(line) !== 'object') return false;
    return true;
  } catch {
    return false;
  }
}
