/** From the first to the last code point, both included. */
export type CharRange = readonly [first: number, last: number];

const LAST_CODE_POINT = 0x10ffff;

/** Some characters, or all but some. */
export class CharSet {
  constructor(
    private readonly ranges: readonly CharRange[],
    private readonly isNegated = false,
  ) {}

  has(code: number, ignoreCase: boolean): boolean {
    if (!ignoreCase) return this.lists(code) !== this.isNegated;
    const character = String.fromCodePoint(code);
    const isListed =
      this.lists(code) ||
      this.lists(onlyCode(character.toLowerCase(), code)) ||
      this.lists(onlyCode(character.toUpperCase(), code));
    return isListed !== this.isNegated;
  }

  /** What the ranges of a larger class say of this set. */
  asRanges(): readonly CharRange[] {
    if (!this.isNegated) return this.ranges;
    const rest: CharRange[] = [];
    let from = 0;
    for (const [first, last] of [...this.ranges].sort((a, b) => a[0] - b[0])) {
      if (first > from) rest.push([from, first - 1]);
      from = Math.max(from, last + 1);
    }
    if (from <= LAST_CODE_POINT) rest.push([from, LAST_CODE_POINT]);
    return rest;
  }

  private lists(code: number): boolean {
    for (const [first, last] of this.ranges) if (code >= first && code <= last) return true;
    return false;
  }
}

/** Some letters become two when their case changes; those stay as they are. */
function onlyCode(text: string, otherwise: number): number {
  const code = text.codePointAt(0)!;
  return text.length === (code > 0xffff ? 2 : 1) ? code : otherwise;
}

/** Each text is the first and the last character of a range, or the only one. */
function rangesOf(...texts: readonly string[]): readonly CharRange[] {
  return texts.map((text) => {
    const codes = [...text].map((character) => character.codePointAt(0)!);
    return [codes[0]!, codes.at(-1)!];
  });
}

const DIGITS = rangesOf('09');
const WORD = rangesOf('az', 'AZ', '09', '_');
const SPACES = rangesOf(
  '\t\r',
  ' ',
  '\u00a0',
  '\u1680',
  '\u2000\u200a',
  '\u2028\u2029',
  '\u202f',
  '\u205f',
  '\u3000',
  '\ufeff',
);
const LINE_ENDS = rangesOf('\n', '\r', '\u2028\u2029');

export const ANY = new CharSet([], true);
export const NO_SLASH = new CharSet(rangesOf('/'), true);
/** What `.` means. */
export const IN_LINE = new CharSet(LINE_ENDS, true);

/** The sets that a letter after a backslash names. */
export const NAMED_SETS: ReadonlyMap<string, CharSet> = new Map([
  ['d', new CharSet(DIGITS)],
  ['D', new CharSet(DIGITS, true)],
  ['w', new CharSet(WORD)],
  ['W', new CharSet(WORD, true)],
  ['s', new CharSet(SPACES)],
  ['S', new CharSet(SPACES, true)],
]);

export function single(character: string): CharSet {
  return new CharSet(rangesOf(character));
}

export function isWordCode(code: number): boolean {
  return WORD.some(([first, last]) => code >= first && code <= last);
}
