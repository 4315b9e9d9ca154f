import type { Group } from './group.ts';
import { gameOf } from './prediction/game.ts';
import type { Random } from './random.ts';
import type { Scheduler } from './scheduler.ts';

/** How long it will still take. In four of five cases the truth lies between `lowMs` and `highMs`. */
export interface TimeLeft {
  readonly lowMs: number;
  /** The truth is as likely to be longer as to be shorter. */
  readonly expectedMs: number;
  readonly highMs: number;
}

/** How much all plays of a prediction may do together: it bounds their time to some milliseconds. */
const MAX_STEPS = 40_000;
const FEWEST_PLAYS = 24;
const MAX_PLAYS = 200;

/**
 * How long a group, or everything, will still take, as a range; undefined while nothing at all is known of the
 * durations. Those are what the tools took before or what callers expect, corrected by how that came true before.
 *
 * What is left is played through many times on paper, with durations drawn by chance: conditional on the time that a
 * running execution has taken so far, and uncertain as a whole where little was seen. It predicts what there is: it
 * knows nothing of failures and of what will be submitted later, a pause counts as over, and a limit that was lowered
 * below a demand as raised again. It costs some milliseconds, however much is left.
 */
export function predictRemaining(
  scheduler: Scheduler,
  group: Group | undefined,
  now: number,
  random: Random,
): TimeLeft | undefined {
  const game = gameOf(scheduler, group, now);
  if (game === 'nothing-left') return { lowMs: 0, expectedMs: 0, highMs: 0 };
  if (game === 'nothing-known') return undefined;
  const ends: number[] = [];
  while (ends.length < FEWEST_PLAYS || (ends.length < MAX_PLAYS && game.steps < MAX_STEPS))
    ends.push(game.play(random));
  ends.sort((a, b) => a - b);
  const at = (share: number) => Math.round(quantile(ends, share));
  return { lowMs: at(0.1), expectedMs: at(0.5), highMs: at(0.9) };
}

/** The value below which the given share lies, between two of the sorted values where none is exactly there. */
function quantile(sorted: readonly number[], share: number): number {
  const at = Math.max(0, Math.min(sorted.length - 1, share * sorted.length - 0.5));
  const low = Math.floor(at);
  const high = Math.min(sorted.length - 1, low + 1);
  return sorted[low]! + (at - low) * (sorted[high]! - sorted[low]!);
}
