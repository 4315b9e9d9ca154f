import { numberText } from '../../../src/cli/output/numbers.ts';
import type { Batch } from '../api/wire.ts';
import { STATUS_TEXT, STATUSES } from './status.ts';

/** `3 completed, 1 running, 2 failed`: each status apart. */
export function countsText(counts: Batch['counts']): string {
  return STATUSES.filter((status) => counts[status] > 0)
    .map((status) => `${numberText(counts[status])} ${STATUS_TEXT[status].toLowerCase()}`)
    .join(', ');
}

/** How far the running ones are on average, 0 to 1, as far as they report it. */
export function runningShare({ counts, total, progress, succeeded }: Batch): number {
  if (counts.running === 0 || succeeded) return 0;
  const skipped = counts.failed + counts.cancelled === 0 ? counts.skipped : 0;
  const rest = progress * total - counts.completed - skipped;
  return Math.max(0, Math.min(1, rest / counts.running));
}
