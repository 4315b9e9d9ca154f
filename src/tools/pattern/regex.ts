import { createRequire } from 'node:module';
import type * as Re2 from 're2js';

/** An unusable pattern; the message says why. */
export class PatternError extends Error {
  override readonly name = 'PatternError';
}

/** A pattern that matches in time linear in the length of the text. */
export interface LinearPattern {
  test(text: string): boolean;
  /** Bounds the work per character. */
  readonly size: number;
}

const require = createRequire(import.meta.url);
const MAX_SIZE = 1000;
/** Nested groups; more is a mistake or an attack. */
const MAX_DEPTH = 50;
const MAX_SHOWN = 80;

const SPACES =
  '\\t-\\r \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}';
const NO_SPACES =
  '\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}';
/** Character classes allowed inside a class. RE2's `\s` has fewer spaces than JavaScript's. */
const SETS: ReadonlyMap<string, string> = new Map([
  ['d', '\\d'],
  ['D', '\\D'],
  ['w', '\\w'],
  ['W', '\\W'],
  ['s', SPACES],
  ['S', NO_SPACES],
]);
const CONTROLS: ReadonlyMap<string, number> = new Map([
  ['t', 9],
  ['n', 10],
  ['v', 11],
  ['f', 12],
  ['r', 13],
  ['0', 0],
]);
const ANYTHING = '[\\x{0}-\\x{10ffff}]';
const NOTHING = '[^\\x{0}-\\x{10ffff}]';
/** RE2's `.` excludes only the line feed. */
const PLACES: ReadonlyMap<string, string> = new Map([
  ['.', '[^\\n\\r\\x{2028}\\x{2029}]'],
  ['^', '\\A'],
  ['$', '\\z'],
]);

/**
 * Translates a JavaScript regular expression without look-around, back-references and `\p{…}`, which RE2 does not
 * support or matches differently. Throws a {@link PatternError} for those and for invalid expressions.
 */
export function linearRegex(source: string, ignoreCase = false): LinearPattern {
  checkSyntax(source);
  const { text, size } = new Translation(source).result();
  return compileRe2(source, text, size, ignoreCase);
}

/** Compiles RE2 syntax; `shown` is for errors. */
export function compileRe2(shown: string, text: string, size: number, ignoreCase: boolean): LinearPattern {
  if (size > MAX_SIZE) throw invalid(shown, 'it is too large. Use a shorter one, or smaller numbers in {…}');
  // Loaded with the first pattern: most programs have none.
  const { RE2JS } = require('re2js') as typeof Re2;
  try {
    const compiled = RE2JS.compile(text, ignoreCase ? RE2JS.CASE_INSENSITIVE : 0);
    return { size, test: (given) => compiled.test(given) };
  } catch (error) {
    throw invalid(shown, (error as Error).message);
  }
}

export function invalid(pattern: string, problem: string): PatternError {
  const shown = pattern.length > MAX_SHOWN ? `${pattern.slice(0, MAX_SHOWN)}…` : pattern;
  return new PatternError(`The pattern ${JSON.stringify(shown)} is not valid: ${problem}.`);
}

/** One character, escaped for RE2. */
export function literal(code: number): string {
  return `\\x{${code.toString(16)}}`;
}

/** Lets JavaScript report syntax errors. Nothing is matched, so this is fast. */
function checkSyntax(source: string): void {
  try {
    new RegExp(source, 'u');
  } catch (strict) {
    try {
      // A lone bracket or an unnecessary escape: the `u` flag rejects common patterns.
      new RegExp(source);
    } catch {
      throw invalid(source, (strict as Error).message.replace(/^.*: /s, ''));
    }
  }
}

/** Parses an expression that JavaScript accepts and writes its RE2 equivalent. */
class Translation {
  private readonly characters: readonly string[];
  private at = 0;
  private text = '';
  /** The size of each open group so far, innermost last. */
  private readonly sizes: number[] = [0];
  private lastSize = 0;

  constructor(private readonly source: string) {
    this.characters = [...source];
  }

  result(): { text: string; size: number } {
    while (this.at < this.characters.length) this.next(this.take());
    return { text: this.text, size: this.sizes[0]! };
  }

  private next(character: string): void {
    if (character === '\\') this.escape();
    else if (character === '[') this.atom(this.characterClass());
    else if (character === '(') this.open();
    else if (character === ')') this.close();
    else if (character === '{') this.braces();
    else if ('|*+?'.includes(character)) this.text += character;
    else this.atom(PLACES.get(character) ?? literal(character.codePointAt(0)!));
  }

  private atom(text: string): void {
    this.text += text;
    this.grow(1);
    this.lastSize = 1;
  }

  private grow(size: number): void {
    this.sizes[this.sizes.length - 1]! += size;
  }

  private open(): void {
    if (this.match(/^\?<?[=!]/)) throw this.unsupported('look-around');
    if (!this.match(/^\?(:|<[^>]{1,64}>)/) && this.characters[this.at] === '?')
      throw this.unsupported('this "(?" group');
    if (this.sizes.length > MAX_DEPTH)
      throw invalid(this.source, `its groups are nested more than ${MAX_DEPTH} deep`);
    this.text += '(?:';
    this.sizes.push(1);
  }

  private close(): void {
    this.text += ')';
    this.lastSize = this.sizes.pop()!;
    this.grow(this.lastSize);
  }

  private braces(): void {
    const counts = this.match(/^(\d{1,9})(,(\d{0,9}))?\}/);
    if (counts === undefined) {
      this.atom('\\{');
      return;
    }
    const times = Math.max(Number(counts[1]), Number(counts[3] ?? 0));
    if (times > MAX_SIZE) throw invalid(this.source, `it has more than ${MAX_SIZE} repetitions`);
    this.grow(this.lastSize * Math.max(0, times - 1));
    this.text += `{${counts[0]}`;
  }

  private escape(): void {
    const next = this.characters[this.at]!;
    if (next === 'b' || next === 'B') {
      this.at++;
      this.atom(`\\${next}`);
      return;
    }
    const set = this.set();
    this.atom(set === undefined ? literal(this.escaped()) : `[${set}]`);
  }

  private set(): string | undefined {
    const set = SETS.get(this.characters[this.at]!);
    if (set !== undefined) this.at++;
    return set;
  }

  /** The character that an escape stands for. */
  private escaped(): number {
    const pair = this.match(/^u(d[89ab][\da-f]{2})\\u(d[c-f][\da-f]{2})/i);
    if (pair !== undefined) {
      const [high, low] = [Number.parseInt(pair[1]!, 16), Number.parseInt(pair[2]!, 16)];
      return (high - 0xd800) * 0x400 + (low - 0xdc00) + 0x10000;
    }
    const code = this.match(/^(?:x([\da-f]{2})|u([\da-f]{4})|u\{0*([\da-f]{1,6})\})/i);
    if (code !== undefined) {
      const value = Number.parseInt(code[1] ?? code[2] ?? code[3]!, 16);
      if (value >= 0xd800 && value < 0xe000) throw this.unsupported('an unpaired surrogate');
      if (value > 0x10ffff) throw this.unsupported(`\\${code[0]}`);
      return value;
    }
    const control = this.match(/^c([A-Za-z])/);
    if (control !== undefined) return control[1]!.charCodeAt(0) % 32;
    const character = this.take();
    const meaning = CONTROLS.get(character);
    if (meaning !== undefined && !/\d/.test(this.characters[this.at] ?? '')) return meaning;
    if (/[\dk]/.test(character)) throw this.unsupported(`the back-reference \\${character}`);
    if (/[A-Za-z]/.test(character)) throw this.unsupported(`\\${character}`);
    return character.codePointAt(0)!;
  }

  private characterClass(): string {
    const isNegated = this.match(/^\^/) !== undefined;
    let members = '';
    while (this.characters[this.at] !== ']') {
      const first = this.member();
      const isRange = this.characters[this.at] === '-' && this.characters[this.at + 1] !== ']';
      if (!isRange) {
        members += typeof first === 'number' ? literal(first) : first;
        continue;
      }
      this.at++;
      const last = this.member();
      if (typeof first === 'number' && typeof last === 'number') {
        members += `${literal(first)}-${literal(last)}`;
        continue;
      }
      // `[\w-a]`: a set cannot end a range, so the hyphen is literal.
      for (const end of [first, 45, last]) members += typeof end === 'number' ? literal(end) : end;
    }
    this.at++;
    if (members === '') return isNegated ? ANYTHING : NOTHING;
    return `[${isNegated ? '^' : ''}${members}]`;
  }

  /** One character of a class, or a set of them. */
  private member(): number | string {
    const character = this.take();
    if (character !== '\\') return character.codePointAt(0)!;
    if (this.characters[this.at] === 'b') {
      this.at++;
      return 8;
    }
    return this.set() ?? this.escaped();
  }

  private take(): string {
    return this.characters[this.at++]!;
  }

  /** Consumes a match of the expression, which must start with `^`. */
  private match(form: RegExp): RegExpExecArray | undefined {
    // No expression used here matches more.
    const match = form.exec(this.characters.slice(this.at, this.at + 70).join(''));
    if (match === null) return undefined;
    this.at += [...match[0]].length;
    return match;
  }

  private unsupported(what: string): PatternError {
    return invalid(this.source, `${what} cannot be matched in linear time`);
  }
}
