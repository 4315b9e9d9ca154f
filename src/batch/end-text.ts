import type { BatchRecord } from '../store/records.ts';
import type { ActionResult } from './answer.ts';
import { countsText } from './counts.ts';
import { linesText, problemText } from './text.ts';

/** How a batch stands when nothing of it runs any more. */
export function endText({ name, counts }: BatchRecord, problem: unknown): ActionResult {
  const { failed, skipped, cancelled, open, running } = counts;
  const remedy =
    failed + skipped + cancelled > 0 ? 'See "results" for the reasons; "retry" opens them again.' : undefined;
  // Nobody runs it: who did has died, or says himself why he gave it up.
  const hasDied = running > 0 && problem === undefined;
  const state = hasDied
    ? 'is not running: the process that ran it died'
    : open + running > 0
      ? 'does not run'
      : 'has ended';
  const left = hasDied
    ? 'The next "start" sees to what it left.'
    : open > 0 && problem === undefined
      ? 'What is open runs with the next "start".'
      : undefined;
  return {
    text: linesText(
      problem === undefined ? undefined : problemText(problem),
      `The batch "${name}" ${state}. It has ${countsText(counts)}.`,
      remedy,
      left,
    ),
    data: {
      batch: name,
      state: 'idle',
      counts,
      succeeded: counts.completed === Object.values(counts).reduce((sum, count) => sum + count, 0),
      ...(problem !== undefined && { problem: problemText(problem) }),
    },
  };
}
