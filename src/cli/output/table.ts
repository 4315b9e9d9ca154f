import { printableLine } from '../../core/printable-text.ts';
import type { Colours } from './colours.ts';
import { cutToWidth, padEndToWidth, padStartToWidth, textWidth } from './width.ts';

export interface Column {
  readonly title: string;
  /** Numbers stand at the right. */
  readonly align?: 'left' | 'right';
  /** Colours a cell; it gets the text as it is padded, and what the cell says. */
  readonly colour?: (padded: string, value: string) => string;
}

export interface TableOptions {
  readonly colours: Colours;
  /** How wide the whole may be; the widest columns give way. Without it nothing is cut. */
  readonly width?: number;
}

const GAP = '  ';
/** A column that gives way keeps this much. */
const NARROWEST = 6;

/** Columns under their titles, as lines. What the cells say cannot control the terminal. */
export function tableLines(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  { colours, width = Number.POSITIVE_INFINITY }: TableOptions,
): string[] {
  const cells = rows.map((row) => columns.map((_, index) => printableLine(row[index] ?? '')));
  const widths = fitted(
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
  const titles = columns.map(({ title }) => title);
  return [
    line(titles, (padded) => colours.dim(padded)),
    ...cells.map((row) =>
      line(row, (padded, index) => columns[index]!.colour?.(padded, row[index]!) ?? padded),
    ),
  ];
}

/** Takes from the widest until all fit, or until none can give more. */
function fitted(widths: number[], total: number): number[] {
  let over = widths.reduce((sum, width) => sum + width, 0) + GAP.length * (widths.length - 1) - total;
  while (over > 0) {
    const widest = Math.max(...widths);
    if (widest <= NARROWEST) break;
    const second = Math.max(NARROWEST, ...widths.filter((width) => width < widest));
    const equals = widths.filter((width) => width === widest).length;
    const less = Math.max(1, Math.min(widest - second, Math.ceil(over / equals)));
    widths = widths.map((width) => (width === widest ? width - less : width));
    over -= less * equals;
  }
  return widths;
}
