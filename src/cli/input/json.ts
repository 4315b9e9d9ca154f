import { createRequire } from 'node:module';
import type { ParseError } from 'jsonc-parser';
import type { FilePlace } from '../../config/problems.ts';
import { VolleyError } from '../../core/errors.ts';
import { findInexactNumber, inexactText, pathText } from '../../core/json-numbers.ts';
import { type DataPath, type Parsed, TOO_NESTED } from './plain-data.ts';
import { placeAt, type TaskSource, taskFileError } from './source.ts';

export function parseJsonSource(source: TaskSource): Parsed {
  const { text } = source;
  try {
    const data: unknown = JSON.parse(text);
    checkNumbers(source, text, 1);
    const places = new JsonPlaces(text);
    return { data, placeOf: (path) => places.find(path) };
  } catch (error) {
    if (error instanceof VolleyError) throw error;
    const { offset, problem } = findJsonProblem(text);
    const hint = isLines(text) ? ' If each line is a task, name the file .jsonl.' : '';
    throw taskFileError(source, `invalid JSON: ${problem}.${hint}`, placeAt(text, offset), error);
  }
}

/** Parses a value on each line. Empty lines are ignored. */
export function parseJsonLinesSource(source: TaskSource): Parsed {
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

function parseLine(source: TaskSource, text: string, line: number): unknown {
  try {
    const data: unknown = JSON.parse(text);
    checkNumbers(source, text, line);
    return data;
  } catch (error) {
    if (error instanceof VolleyError) throw error;
    const { offset, problem } = findJsonProblem(text);
    const place = { line, column: offset + 1, length: 1 };
    const isOpening = text.trim() === '[' || text.trim() === '{';
    const hint = isOpening ? ' Each line must be a whole task; otherwise name the file .json.' : '';
    throw taskFileError(source, `invalid JSON: ${problem}.${hint}`, place, error);
  }
}

/** Refuses numbers that JavaScript cannot hold exactly. */
function checkNumbers(source: TaskSource, text: string, firstLine: number): void {
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
    return lines.every((line) => typeof JSON.parse(line) === 'object');
  } catch {
    return false;
  }
}

interface JsonProblem {
  /** In UTF-16 units. */
  readonly offset: number;
  readonly problem: string;
}

/** Finds where and why JSON.parse refuses a text: its own message depends on the version of Node. */
export function findJsonProblem(text: string): JsonProblem {
  // Loaded only here: it takes longer to load than most files take to parse.
  const { parse, printParseErrorCode } = createRequire(import.meta.url)(
    'jsonc-parser',
  ) as typeof import('jsonc-parser');
  const errors: ParseError[] = [];
  try {
    parse(text, errors, { disallowComments: true });
  } catch (error) {
    // The parser is recursive.
    if (!(error instanceof RangeError)) throw error;
    return { offset: 0, problem: TOO_NESTED };
  }
  const [first] = errors;
  if (first === undefined) return { offset: text.length, problem: 'it cannot be parsed' };
  const { offset, length } = first;
  return {
    offset,
    problem: jsonProblem(printParseErrorCode(first.error), text.slice(offset, offset + length)),
  };
}

/** Describes an error of jsonc-parser at a token. */
export function jsonProblem(code: string, token: string): string {
  const shown = JSON.stringify(token.length > 40 ? `${token.slice(0, 40)}…` : token);
  const unexpected = token === '' ? 'unexpected end' : `unexpected ${shown}`;
  switch (code) {
    case 'InvalidSymbol':
      if (token.startsWith("'")) return 'strings need double quotes, not single quotes';
      if (token.startsWith('#')) return 'JSON has no comments';
      return `unexpected ${shown}: names and strings need double quotes`;
    case 'InvalidCommentToken':
    case 'UnexpectedEndOfComment':
      return 'JSON has no comments';
    case 'PropertyNameExpected':
      return token === '}' ? 'trailing comma before "}"' : `${unexpected}; expected a name in double quotes`;
    case 'ValueExpected':
      return token === ']' ? 'trailing comma before "]"' : `${unexpected}; expected a value`;
    case 'ColonExpected':
      return `${unexpected}; expected ":" after the name`;
    case 'CommaExpected':
      return `${unexpected}; expected "," or the end of the list or object`;
    case 'CloseBraceExpected':
      return `${unexpected}; expected "}"`;
    case 'CloseBracketExpected':
      return `${unexpected}; expected "]"`;
    case 'EndOfFileExpected':
      return `${unexpected} after the end`;
    case 'UnexpectedEndOfString':
      return 'the string is not closed on its line (write a line break as \\n)';
    case 'InvalidUnicode':
    case 'InvalidEscapeCharacter':
      return 'the string has an invalid escape (write a backslash as \\\\)';
    case 'InvalidCharacter':
      return 'the string has an unescaped control character';
    default:
      return 'invalid number';
  }
}

const SPACE = /[ \t\r\n]*/y;
/** A number, `true`, `false` or `null`. */
const WORD = /[^\s,\]}]+/y;
/** Everything before the next string or bracket. */
const NEXT = /[^"[\]{}]*/y;

/** The offset of each value in a list or an object. */
type Members = ReadonlyMap<string | number, number>;

/**
 * Finds values in a valid JSON text. Each list or object on the way is scanned once. By hand, because parsers with
 * positions make an object for each value: jsonc-parser takes 8 s and 600 MB for 18 MB.
 */
class JsonPlaces {
  private readonly known = new Map<number, Members>();
  private lines: number[] | undefined;

  constructor(private readonly text: string) {}

  /** The place of the value, or of the innermost value around it; none for the whole text. */
  find(path: DataPath): FilePlace | undefined {
    const whole = this.skip(SPACE, 0);
    let start = whole;
    for (const key of path) {
      const inner = this.membersAt(start).get(key);
      if (inner === undefined) break;
      start = inner;
    }
    return start === whole ? undefined : this.placeFrom(start);
  }

  private membersAt(start: number): Members {
    const known = this.known.get(start) ?? this.readMembers(start);
    this.known.set(start, known);
    return known;
  }

  private readMembers(start: number): Members {
    const members = new Map<string | number, number>();
    const opening = this.text[start];
    if (opening !== '[' && opening !== '{') return members;
    for (let at = this.skip(SPACE, start + 1), index = 0; ; index++) {
      if (this.text[at] === ']' || this.text[at] === '}') return members;
      let key: string | number = index;
      if (opening === '{') {
        const end = this.endOfString(at);
        key = JSON.parse(this.text.slice(at, end)) as string;
        at = this.skip(SPACE, this.skip(SPACE, end) + 1);
      }
      // Of duplicate keys, the last counts.
      members.set(key, at);
      at = this.skip(SPACE, this.endOf(at));
      if (this.text[at] === ',') at = this.skip(SPACE, at + 1);
    }
  }

  /** The end of a value, without recursion. */
  private endOf(start: number): number {
    const first = this.text[start];
    if (first === '"') return this.endOfString(start);
    if (first !== '[' && first !== '{') return this.skip(WORD, start);
    let depth = 0;
    for (let at = start; ; at = this.skip(NEXT, at)) {
      const character = this.text[at];
      if (character === '"') {
        at = this.endOfString(at);
        continue;
      }
      depth += character === '[' || character === '{' ? 1 : -1;
      at++;
      if (depth === 0) return at;
    }
  }

  /** No pattern: a long string with many escaped quotes would overflow the stack. */
  private endOfString(start: number): number {
    let end = this.text.indexOf('"', start + 1);
    while (this.isEscaped(end)) end = this.text.indexOf('"', end + 1);
    return end + 1;
  }

  private isEscaped(at: number): boolean {
    let before = at;
    while (this.text[before - 1] === '\\') before--;
    return (at - before) % 2 === 1;
  }

  private skip(pattern: RegExp, at: number): number {
    pattern.lastIndex = at;
    return pattern.test(this.text) ? pattern.lastIndex : at;
  }

  private placeFrom(start: number): FilePlace {
    const end = this.endOf(start);
    const line = this.lineAt(start);
    const length = this.lineAt(end) === line ? end - start : 1;
    return { line: line + 1, column: start - this.lineStarts()[line]! + 1, length };
  }

  /** From 0. */
  private lineAt(offset: number): number {
    const starts = this.lineStarts();
    let [low, high] = [0, starts.length];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (starts[middle]! <= offset) low = middle;
      else high = middle;
    }
    return low;
  }

  private lineStarts(): number[] {
    if (this.lines === undefined) {
      this.lines = [0];
      for (let at = this.text.indexOf('\n'); at >= 0; at = this.text.indexOf('\n', at + 1))
        this.lines.push(at + 1);
    }
    return this.lines;
  }
}
