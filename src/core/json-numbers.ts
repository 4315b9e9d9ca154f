import { VolleyError } from './errors.ts';

/** A number in a JSON document that parsing would change. */
interface InexactNumber {
  /** In UTF-16 code units from the start. */
  readonly offset: number;
  readonly text: string;
  /** Its path in the data. */
  readonly path: readonly (string | number)[];
}

/** Only a long integer, or an exponent large enough to overflow, can be inexact. */
const CANDIDATE = /\d{16}|\d[eE]\+?\d{3}/g;
const NUMBER = /-?\d+(\.\d+)?([eE][+-]?\d+)?/y;
const MAX_SHOWN_LENGTH = 40;

/**
 * Finds the first number in a JSON document that a JavaScript number cannot represent: an integer whose digits would
 * change, or one that would become infinite. A fraction that loses digits is ordinary floating-point rounding.
 */
export function findInexactNumber(json: string): InexactNumber | undefined {
  // The next string that may contain a candidate starts here.
  let quote = json.indexOf('"');
  CANDIDATE.lastIndex = 0;
  for (let match = CANDIDATE.exec(json); match !== null; match = CANDIDATE.exec(json)) {
    let end = 0;
    while (quote >= 0 && quote < match.index) {
      end = endOfString(json, quote);
      quote = json.indexOf('"', end);
    }
    if (end > match.index) {
      CANDIDATE.lastIndex = end;
      continue;
    }
    const offset = startOfNumber(json, match.index);
    NUMBER.lastIndex = offset;
    const text = NUMBER.exec(json)?.[0] ?? match[0];
    if (!isExact(text)) {
      return { offset, text, path: pathAt(json, offset) };
    }
    CANDIDATE.lastIndex = Math.max(offset + text.length, match.index + match[0].length);
  }
  return undefined;
}

/** Parses JSON; throws if a number would change its value. */
export function parseExactJson(json: string): unknown {
  const data: unknown = JSON.parse(json);
  const found = findInexactNumber(json);
  if (found !== undefined) throw inexactNumberError(json, found);
  return data;
}

export function inexactNumberError(json: string, { offset, text, path }: InexactNumber): VolleyError {
  const before = json.slice(0, offset).split('\n');
  const [line, column] = [before.length, before.at(-1)!.length + 1];
  const place = `line ${line}, column ${column}${path.length === 0 ? '' : `, ${pathText(path)}`}`;
  return new VolleyError('INEXACT_NUMBER', `At ${place}: ${inexactText(text)}.`, { line, column, path });
}

/** Whether a number keeps its value when parsed. */
function isExact(text: string): boolean {
  const value = Number(text);
  if (!Number.isFinite(value)) return false;
  return !/^-?\d+$/.test(text) || isExactInteger(BigInt(text));
}

/** An integer is exact if the number equals it or is written with the same digits. */
export function isExactInteger(integer: bigint): boolean {
  const value = Number(integer);
  return Number.isFinite(value) && (BigInt(value) === integer || String(value) === String(integer));
}

/** Describes a number that cannot be represented. */
export function inexactText(text: string): string {
  const shown = text.length > MAX_SHOWN_LENGTH ? `${text.slice(0, MAX_SHOWN_LENGTH)}…` : text;
  return `${shown} does not fit into a JSON number exactly (integers fit up to ${Number.MAX_SAFE_INTEGER}); write it as a string`;
}

/** Formats a path: `tasks[0].params.id`; empty for the root. */
export function pathText(path: readonly (string | number)[]): string {
  return path.reduce<string>((text, key) => {
    if (typeof key === 'number') return `${text}[${key}]`;
    if (!/^[\w$-]+$/.test(key)) return `${text}[${JSON.stringify(key)}]`;
    return text === '' ? key : `${text}.${key}`;
  }, '');
}

function startOfNumber(json: string, at: number): number {
  let start = at;
  while (start > 0 && /[\d.eE+-]/.test(json[start - 1]!)) start--;
  return start;
}

/** The index after the closing quote of a string, or the end of the document if there is none. */
function endOfString(json: string, start: number): number {
  for (let end = json.indexOf('"', start + 1); end >= 0; end = json.indexOf('"', end + 1)) {
    let escapes = 0;
    while (json[end - 1 - escapes] === '\\') escapes++;
    if (escapes % 2 === 0) return end + 1;
  }
  return json.length;
}

/** The path of the value that starts here. */
function pathAt(json: string, offset: number): (string | number)[] {
  const path: (string | number)[] = [];
  let string = '';
  for (let at = 0; at < offset; at++) {
    const character = json[at];
    if (character === '"') {
      const end = endOfString(json, at);
      string = json.slice(at, end);
      at = end - 1;
    } else if (character === '[') path.push(0);
    else if (character === '{') path.push('');
    else if (character === ']' || character === '}') path.pop();
    else if (character === ':') path[path.length - 1] = keyOf(string);
    else if (character === ',') {
      const last = path.at(-1);
      if (typeof last === 'number') path[path.length - 1] = last + 1;
    }
  }
  return path;
}

function keyOf(string: string): string {
  try {
    return JSON.parse(string) as string;
  } catch {
    return string;
  }
}
