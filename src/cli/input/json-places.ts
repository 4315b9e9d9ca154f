import type { Place } from '../../config/problems.ts';
import type { DataPath } from './plain-data.ts';

const SPACE = /[ \t\r\n]*/y;
/** A number, `true`, `false` or `null`: up to what ends it. */
const WORD = /[^\s,\]}]+/y;
/** From one text, or one beginning or end of a list or an object, to the next. */
const NEXT = /[^"[\]{}]*/y;

/** The start of each value of a list or an object. */
type Members = ReadonlyMap<string | number, number>;

/**
 * Where values of a valid JSON text stand. Each list or object on the way is looked through once, so that a hundred
 * places of a large text take little more than one. By hand, because parsers that tell of places make an object for each
 * value: much memory and time for a large file with one mistake.
 */
export class JsonPlaces {
  private readonly known = new Map<number, Members>();
  private lines: number[] | undefined;

  constructor(private readonly text: string) {}

  /** The place of the value, or of the nearest that it would be in; none where that is all of the text. */
  find(path: DataPath): Place | undefined {
    const whole = this.behind(SPACE, 0);
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
    for (let at = this.behind(SPACE, start + 1), index = 0; ; index++) {
      if (this.text[at] === ']' || this.text[at] === '}') return members;
      let key: string | number = index;
      if (opening === '{') {
        const end = this.behindText(at);
        key = JSON.parse(this.text.slice(at, end)) as string;
        at = this.behind(SPACE, this.behind(SPACE, end) + 1);
      }
      // Of a key that is there twice, the last counts.
      members.set(key, at);
      at = this.behind(SPACE, this.endOf(at));
      if (this.text[at] === ',') at = this.behind(SPACE, at + 1);
    }
  }

  /** Behind a value, without recursion: depth does no harm. */
  private endOf(start: number): number {
    const first = this.text[start];
    if (first === '"') return this.behindText(start);
    if (first !== '[' && first !== '{') return this.behind(WORD, start);
    let depth = 0;
    for (let at = start; ; at = this.behind(NEXT, at)) {
      const character = this.text[at];
      if (character === '"') {
        at = this.behindText(at);
        continue;
      }
      depth += character === '[' || character === '{' ? 1 : -1;
      at++;
      if (depth === 0) return at;
    }
  }

  /** No pattern: a long text with many of its quotes escaped would be too much for the stack. */
  private behindText(start: number): number {
    let end = this.text.indexOf('"', start + 1);
    while (this.isEscaped(end)) end = this.text.indexOf('"', end + 1);
    return end + 1;
  }

  private isEscaped(at: number): boolean {
    let before = at;
    while (this.text[before - 1] === '\\') before--;
    return (at - before) % 2 === 1;
  }

  /** Where a match that begins here ends. */
  private behind(pattern: RegExp, at: number): number {
    pattern.lastIndex = at;
    return pattern.test(this.text) ? pattern.lastIndex : at;
  }

  private placeFrom(start: number): Place {
    const end = this.endOf(start);
    const line = this.lineAt(start);
    const length = this.lineAt(end) === line ? end - start : 1;
    return { line: line + 1, column: start - this.lineStarts()[line]! + 1, length };
  }

  /** The number of the line, from 0. */
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
