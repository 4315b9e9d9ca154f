import type { Log, LogLine } from '../api/wire.ts';

/** Lines are read and kept in blocks of this many. */
export const BLOCK_LINES = 500;
/** Blocks that are kept; those looked at the longest time ago go first. */
const MAX_BLOCKS = 40;

/** The part of one attempt's log that was read: a few blocks of a log of any length. */
export class LogCache {
  private readonly blocks = new Map<number, LogLine[]>();
  firstLine = 0;
  endLine = 0;

  /** The line with this number, if it was read. */
  at(line: number): LogLine | undefined {
    const lines = this.blocks.get(Math.floor(line / BLOCK_LINES));
    return lines?.[line % BLOCK_LINES];
  }

  /** Where to read on, so that all lines between two numbers are there; undefined if they are. */
  missing(from: number, to: number): number | undefined {
    for (let line = Math.max(from, this.firstLine); line < Math.min(to, this.endLine); line++) {
      if (this.at(line) === undefined) return line;
    }
    return undefined;
  }

  add({ lines, first_line: firstLine, end_line: endLine }: Log): void {
    this.firstLine = firstLine;
    this.endLine = Math.max(this.endLine, endLine);
    for (const line of lines) {
      const number = Math.floor(line.line / BLOCK_LINES);
      const block = this.blocks.get(number) ?? [];
      // The one that was used last is the last of all.
      this.blocks.delete(number);
      this.blocks.set(number, block);
      block[line.line % BLOCK_LINES] = line;
    }
    for (const [oldest] of this.blocks) {
      if (this.blocks.size <= MAX_BLOCKS) return;
      this.blocks.delete(oldest);
    }
  }
}

/** Browsers cannot scroll through more pixels than this. */
const MAX_HEIGHT = 8_000_000;

/** Which rows of a list of any length are in sight, where it is scrolled to some place. */
export interface Sight {
  /** The height of what is scrolled. */
  readonly height: number;
  readonly first: number;
  readonly end: number;
  /** How far the first row is above the upper edge. */
  readonly offset: number;
}

/** Where all rows would be too high together, a pixel of the scroll bar is more than a pixel of the rows. */
export function sightOf(rows: number, rowHeight: number, top: number, height: number): Sight {
  const whole = rows * rowHeight;
  const shown = Math.min(whole, MAX_HEIGHT);
  const share = shown <= height ? 0 : Math.min(1, top / (shown - height));
  const place = share * Math.max(0, whole - height);
  const first = Math.min(rows, Math.floor(place / rowHeight));
  const end = Math.min(rows, Math.ceil((place + height) / rowHeight) + 1);
  return { height: shown, first, end, offset: first * rowHeight - place };
}

/** Where to scroll to, so that this row is the first in sight. */
export function topOf(row: number, rows: number, rowHeight: number, height: number): number {
  const whole = rows * rowHeight;
  const shown = Math.min(whole, MAX_HEIGHT);
  if (whole <= height) return 0;
  return (Math.min(row * rowHeight, whole - height) / (whole - height)) * (shown - height);
}
