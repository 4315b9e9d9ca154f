import { placeAt, type Source, taskFileError } from './fault.ts';
import { findJsonFault } from './json-fault.ts';
import type { Parsed } from './parse.ts';
import { placesInJson } from './yaml-text.ts';

export function parseJson(source: Source): Parsed {
  const { text } = source;
  try {
    return { data: JSON.parse(text), placeOf: placesInJson(text) };
  } catch (error) {
    const { offset, what } = findJsonFault(text);
    const hint = isLines(text) ? ' One task on each line is JSON Lines: name the file .jsonl.' : '';
    throw taskFileError(source, `this is not valid JSON: ${what}.${hint}`, placeAt(text, offset), error);
  }
}

/** A value on each line; empty lines are passed over. */
export function parseJsonLines(source: Source): Parsed {
  const data: unknown[] = [];
  const lineOf: number[] = [];
  let line = 0;
  for (let start = 0; start <= source.text.length; ) {
    const end = source.text.indexOf('\n', start);
    const text = source.text.slice(start, end < 0 ? undefined : end);
    line++;
    if (text.trim() !== '') {
      data.push(parseLine(source, text, line));
      lineOf.push(line);
    }
    if (end < 0) break;
    start = end + 1;
  }
  return {
    data,
    placeOf: ([index]) => {
      const at = typeof index === 'number' ? lineOf[index] : undefined;
      return at === undefined ? undefined : { line: at, column: 1, length: 1 };
    },
  };
}

function parseLine(source: Source, text: string, line: number): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const { offset, what } = findJsonFault(text);
    const place = { line, column: offset + 1, length: 1 };
    const hint =
      text.trim() === '[' || text.trim() === '{'
        ? ' Each line is a whole task: name the file .json if it is not so.'
        : '';
    throw taskFileError(source, `this line is not valid JSON: ${what}.${hint}`, place, error);
  }
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
