import { eastAsianWidth } from 'get-east-asian-width';
import { printableLine } from '../../core/printable-text.ts';
import type { Colors } from './colors.ts';
import { wrapWords } from './wrap.ts';

// Not string-width, wrap-ansi or a table package: they segment graphemes, too slow for ten frames a second, and none
// bounds stacked marks or makes cells printable.

const EMOJI_STYLE = 0xfe0f;
const NO_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}\u1160-\u11ff]$/u;
const ELLIPSIS = '…';
/** A narrower cut shows no end. */
const MIN_COLUMNS_FOR_END = 12;
/** Marks without a width can be stacked endlessly: this many code units are kept for each column. */
const MAX_UNITS_PER_COLUMN = 16;

/**
 * An upper bound of the columns that a plain text takes. Terminals disagree on joined emoji; a line that is counted too
 * long does no harm, while a line that wraps breaks the display.
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

function widthOf(code: number): number {
  if (code < 0x300) return 1;
  // After a narrow character this selects its wide, colored form.
  if (code === EMOJI_STYLE) return 1;
  return NO_WIDTH.test(String.fromCodePoint(code)) ? 0 : eastAsianWidth(code);
}

function fits(text: string, columns: number): boolean {
  return text.length <= columns * MAX_UNITS_PER_COLUMN && textWidth(text) <= columns;
}

/** Cuts the end: `begin…`. */
export function cutToWidth(text: string, columns: number): string {
  if (fits(text, columns)) return text;
  return columns < 1 ? '' : `${beginningOf(text, columns - 1).trimEnd()}${ELLIPSIS}`;
}

/** Cuts the middle: names and paths say most at both ends. */
export function cutMiddleToWidth(text: string, columns: number): string {
  if (columns < MIN_COLUMNS_FOR_END) return cutToWidth(text, columns);
  if (fits(text, columns)) return text;
  const head = beginningOf(text, Math.floor((columns - 1) / 3)).trimEnd();
  return `${head}${ELLIPSIS}${endOf(text, columns - 1 - textWidth(head)).trimStart()}`;
}

/** Cuts the beginning: `…end`. */
export function cutStartToWidth(text: string, columns: number): string {
  if (fits(text, columns)) return text;
  return columns < 1 ? '' : `${ELLIPSIS}${endOf(text, columns - 1).trimStart()}`;
}

export function padEndToWidth(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - textWidth(text)));
}

export function padStartToWidth(text: string, columns: number): string {
  return ' '.repeat(Math.max(0, columns - textWidth(text))) + text;
}

function beginningOf(text: string, columns: number): string {
  const maxLength = columns * MAX_UNITS_PER_COLUMN;
  let width = 0;
  let at = 0;
  while (at < text.length) {
    const code = text.codePointAt(at)!;
    const next = at + (code > 0xffff ? 2 : 1);
    width += widthOf(code);
    if (width > columns || next > maxLength) break;
    at = next;
  }
  return text.slice(0, at);
}

function endOf(text: string, columns: number): string {
  const maxLength = columns * MAX_UNITS_PER_COLUMN;
  let width = 0;
  let at = text.length;
  // A mark without a width belongs to the character before it.
  let kept = at;
  while (at > 0) {
    const isPair = at > 1 && text.charCodeAt(at - 2) >> 10 === 0x36 && text.charCodeAt(at - 1) >> 10 === 0x37;
    at -= isPair ? 2 : 1;
    const own = widthOf(text.codePointAt(at)!);
    width += own;
    if (width > columns || text.length - at > maxLength) break;
    if (own > 0) kept = at;
  }
  return text.slice(kept);
}

/** Breaks a string between words and indents all lines but the first. Colors take no room. */
export function wrapHanging(text: string, columns: number, indent: number): string {
  return wrapWords(text, columns, indent, (word) => textWidth(printableLine(word)));
}

export interface TableColumn {
  readonly title: string;
  readonly align?: 'left' | 'right';
  readonly color?: (padded: string) => string;
}

export interface TableOptions {
  readonly colors: Colors;
  /** The widest columns shrink until the table fits. Default: nothing is cut. */
  readonly width?: number;
}

const GAP = '  ';
/** Columns do not shrink below this. */
const MIN_COLUMN_WIDTH = 6;

/** A table as lines, with titles. Cells are made printable. */
export function tableLines(
  columns: readonly TableColumn[],
  rows: readonly (readonly string[])[],
  { colors, width = Number.POSITIVE_INFINITY }: TableOptions,
): string[] {
  const cells = rows.map((row) => columns.map((_, index) => printableLine(row[index] ?? '')));
  const widths = shrink(
    columns.map(({ title }, index) =>
      cells.reduce((widest, row) => Math.max(widest, textWidth(row[index]!)), textWidth(title)),
    ),
    width,
  );
  const line = (texts: readonly string[], paint: (padded: string, index: number) => string) => {
    const padded = texts.map((text, index) => {
      const cut = cutToWidth(text, widths[index]!);
      if (columns[index]!.align === 'right') return paint(padStartToWidth(cut, widths[index]!), index);
      const isLast = index === texts.length - 1;
      return paint(isLast ? cut : padEndToWidth(cut, widths[index]!), index);
    });
    return padded.join(GAP).trimEnd();
  };
  return [
    line(
      columns.map(({ title }) => title),
      (padded) => colors.dim(padded),
    ),
    ...cells.map((row) => line(row, (padded, index) => columns[index]!.color?.(padded) ?? padded)),
  ];
}

/** Takes from the widest columns until all fit, or none can shrink further. */
function shrink(widths: number[], total: number): number[] {
  let excess = widths.reduce((sum, width) => sum + width, 0) + GAP.length * (widths.length - 1) - total;
  while (excess > 0) {
    const widest = Math.max(...widths);
    if (widest <= MIN_COLUMN_WIDTH) break;
    const second = Math.max(MIN_COLUMN_WIDTH, ...widths.filter((width) => width < widest));
    const equals = widths.filter((width) => width === widest).length;
    const less = Math.max(1, Math.min(widest - second, Math.ceil(excess / equals)));
    widths = widths.map((width) => (width === widest ? width - less : width));
    excess -= less * equals;
  }
  return widths;
}
