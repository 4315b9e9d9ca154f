import type { Colours } from '../output/colours.ts';
import type { Line } from './line.ts';

const DONE = '━';
const LEFT = '─';

/** What a bar shows: shares of 0 to 1. */
export interface BarParts {
  readonly progress: number;
  /** The part of the whole that failed; the end of what is done is drawn in red. */
  readonly failed: number;
}

/** Draws a bar of so many columns. A failure is seen however small its share, and it is full only at the end. */
export function addBar(line: Line, { progress, failed }: BarParts, width: number, colours: Colours): void {
  const done = Math.min(progress >= 1 ? width : width - 1, Math.round(Math.max(0, progress) * width));
  const red = failed > 0 ? Math.min(done, Math.max(1, Math.round(failed * width))) : 0;
  line
    .add(DONE.repeat(Math.max(0, done - red)), colours.green)
    .add(DONE.repeat(red), colours.red)
    .add(LEFT.repeat(Math.max(0, width - done)), colours.dim);
}
