/** What takes two columns beside emoji: Hangul, the CJK blocks, full-width forms. */
const WIDE: readonly (readonly [first: number, last: number])[] = [
  [0x1100, 0x115f],
  [0x2329, 0x232a],
  [0x2e80, 0x303e],
  [0x3041, 0xa4cf],
  [0xa960, 0xa97f],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe10, 0xfe19],
  [0xfe30, 0xfe6f],
  [0xff00, 0xff60],
  [0xffe0, 0xffe6],
  [0x16fe0, 0x18cff],
  [0x1aff0, 0x1b2ff],
  [0x1f1e6, 0x1f1ff],
  [0x1f200, 0x1f265],
  [0x1f300, 0x1f64f],
  [0x1f680, 0x1f6ff],
  [0x1f900, 0x1faff],
  [0x20000, 0x3fffd],
];
const FIRST_WIDE = 0x1100;
const EMOJI_STYLE = 0xfe0f;
const EMOJI = /^\p{Emoji_Presentation}$/u;
const NO_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}\u1160-\u11ff]$/u;
const ELLIPSIS = '…';
/** In less room than this an end says nothing. */
const SHORTEST_WITH_END = 12;
/** Signs without a width can be stacked without end: so many code units are shown for each column. */
const UNITS_PER_COLUMN = 16;

/**
 * How many columns of a terminal a plain text takes, at most: terminals do not agree on joined emoji, and a line that is
 * taken for longer than it is does no harm, while a line that wraps breaks the picture.
 */
export function textWidth(text: string): number {
  let width = 0;
  for (let at = 0; at < text.length; ) {
    const code = text.codePointAt(at)!;
    width += widthOf(code);
    at += code > 0xffff ? 2 : 1;
  }
  return width;
}

/** The text, or its beginning and `…`, so that it takes no more columns than that. */
export function cutToWidth(text: string, columns: number): string {
  if (text.length <= columns * UNITS_PER_COLUMN && textWidth(text) <= columns) return text;
  if (columns < 1) return '';
  const kept = beginningOf(text, columns - 1);
  return `${kept.trimEnd()}${ELLIPSIS}`;
}

/** The text without its middle: a name tells most by its beginning and, as paths do, by its end. */
export function cutMiddleToWidth(text: string, columns: number): string {
  if (columns < SHORTEST_WITH_END) return cutToWidth(text, columns);
  if (text.length <= columns * UNITS_PER_COLUMN && textWidth(text) <= columns) return text;
  const head = beginningOf(text, Math.floor((columns - 1) / 3)).trimEnd();
  return `${head}${ELLIPSIS}${endOf(text, columns - 1 - textWidth(head)).trimStart()}`;
}

/** The text, or `…` and its end. */
export function cutStartToWidth(text: string, columns: number): string {
  if (text.length <= columns * UNITS_PER_COLUMN && textWidth(text) <= columns) return text;
  return columns < 1 ? '' : `${ELLIPSIS}${endOf(text, columns - 1).trimStart()}`;
}

/** The text with spaces behind it, up to so many columns. */
export function padEndToWidth(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - textWidth(text)));
}

/** The text with spaces before it, up to so many columns. */
export function padStartToWidth(text: string, columns: number): string {
  return ' '.repeat(Math.max(0, columns - textWidth(text))) + text;
}

function beginningOf(text: string, columns: number): string {
  const longest = columns * UNITS_PER_COLUMN;
  let width = 0;
  let at = 0;
  while (at < text.length) {
    const code = text.codePointAt(at)!;
    const next = at + (code > 0xffff ? 2 : 1);
    width += widthOf(code);
    if (width > columns || next > longest) break;
    at = next;
  }
  return text.slice(0, at);
}

function endOf(text: string, columns: number): string {
  const longest = columns * UNITS_PER_COLUMN;
  let width = 0;
  let at = text.length;
  // A sign without a width belongs to the one before it.
  let kept = at;
  while (at > 0) {
    const isPair = at > 1 && text.charCodeAt(at - 2) >> 10 === 0x36 && text.charCodeAt(at - 1) >> 10 === 0x37;
    at -= isPair ? 2 : 1;
    const own = widthOf(text.codePointAt(at)!);
    width += own;
    if (width > columns || text.length - at > longest) break;
    if (own > 0) kept = at;
  }
  return text.slice(kept);
}

function widthOf(code: number): number {
  if (code >= 0x20 && code < 0x7f) return 1;
  if (code < 0x300) return 1;
  // After a sign that is narrow by itself this asks for its wide, coloured form.
  if (code === EMOJI_STYLE) return 1;
  const character = String.fromCodePoint(code);
  if (NO_WIDTH.test(character)) return 0;
  if (code < FIRST_WIDE) return 1;
  return isWide(code) || EMOJI.test(character) ? 2 : 1;
}

function isWide(code: number): boolean {
  for (const [first, last] of WIDE) if (code >= first && code <= last) return true;
  return false;
}
