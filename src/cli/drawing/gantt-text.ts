import type { Colors } from '../output/colors.ts';
import { cutMiddleToWidth, padEndToWidth } from '../output/text-layout.ts';
import { ticksFor } from './timeline.ts';

/** One row of a chart. */
export interface GanttRow {
  readonly label: string;
  readonly startMs: number;
  readonly endMs: number;
  /** Whether it is on the critical path. */
  readonly isCritical: boolean;
}

const MAX_LABEL = 32;
const MIN_CHART = 20;
const COLUMNS_PER_TICK = 14;

/** A chart for terminals: a scale, then one bar for each row. Rows must be printable and on one line. */
export function ganttLines(
  rows: readonly GanttRow[],
  lengthMs: number,
  { columns, colors }: { readonly columns: number; readonly colors: Colors },
): string[] {
  const longest = rows.reduce((max, { label }) => Math.max(max, label.length), 0);
  const labelWidth = Math.min(longest, MAX_LABEL, Math.max(8, Math.floor(columns / 3)));
  const width = Math.max(MIN_CHART, columns - labelWidth - 4);
  const toColumn = (ms: number) => (lengthMs === 0 ? 0 : Math.round((ms / lengthMs) * width));
  const pad = ' '.repeat(labelWidth + 2);
  return [
    colors.dim(`${pad}${scale(lengthMs, width, toColumn)}`),
    ...rows.map(({ label, startMs, endMs, isCritical }) => {
      const from = Math.min(width - 1, toColumn(startMs));
      const bar = '█'.repeat(Math.max(1, toColumn(endMs) - from));
      const name = padEndToWidth(cutMiddleToWidth(label, labelWidth), labelWidth);
      return `${name}  ${' '.repeat(from)}${isCritical ? colors.cyan(bar) : bar}`;
    }),
  ];
}

function scale(lengthMs: number, width: number, toColumn: (ms: number) => number): string {
  let line = '';
  for (const { ms, text } of ticksFor(lengthMs, Math.max(1, Math.floor(width / COLUMNS_PER_TICK)))) {
    const at = toColumn(ms);
    if (at + text.length > width) break;
    line = `${line.padEnd(at)}${text}`;
  }
  return line;
}
