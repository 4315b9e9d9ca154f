import type { Forecast } from '../../batch/forecast/simulation.ts';
import { printableLine } from '../../core/printable-text.ts';
import { spanText } from '../../core/words.ts';
import type { Colours } from './colours.ts';
import { factorText, numberText, percentText } from './numbers.ts';
import { type Column, tableLines } from './table.ts';

const COLUMNS: readonly Column[] = [
  { title: 'at once', align: 'right' },
  { title: 'takes about', align: 'right' },
  { title: 'between' },
  { title: 'speed-up', align: 'right' },
  { title: 'busy', align: 'right' },
];
const MAX_NOTES = 8;

/** What a batch would take with so many at once, and where the durations come from. */
export function simulationText(
  title: string,
  forecasts: readonly Forecast[],
  notes: readonly string[],
  colours: Colours,
): string {
  const rows = forecasts.map(({ maxConcurrent, expectedMs, lowMs, highMs, speedUp, utilisation }) => [
    numberText(maxConcurrent),
    spanText(expectedMs),
    lowMs === highMs ? '' : `${spanText(lowMs)} and ${spanText(highMs)}`,
    `${factorText(speedUp)}×`,
    percentText(utilisation),
  ]);
  const columns = COLUMNS.map((column) => ({ ...column }));
  const shown = notes.slice(0, MAX_NOTES).map((note) => colours.dim(`  ${printableLine(note)}`));
  const more = notes.length - shown.length;
  return [
    colours.bold(printableLine(title)),
    ...tableLines(columns, rows, { colours }).map((line) => `  ${line}`),
    '',
    ...shown,
    ...(more > 0 ? [colours.dim(`  and ${more} more`)] : []),
    '',
  ].join('\n');
}
