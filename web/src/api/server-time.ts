import { signal } from '@preact/signals';

/** Answers have whole seconds, and a busy server writes them a little late. */
const SLACK_MS = 500;

/** By how much the clock of the server is ahead of this one, in milliseconds; 0 where they agree. */
export const ahead = signal(0);

/** The time of day of the server: all its moments are by its clock, and that of a browser may be wrong. */
export function serverNow(): number {
  return Date.now() + ahead.value;
}

/** Learns from the date of an answer that was asked for and came at these moments of this clock. */
export function learnTime(date: string | null, askedAt: number, cameAt: number): void {
  const stated = Date.parse(date ?? '');
  const min = stated - SLACK_MS - cameAt;
  const max = stated + 1000 + SLACK_MS - askedAt;
  // What is as good as before changes nothing: times that jump to and fro are noise.
  if (ahead.value < min || ahead.value > max) ahead.value = (min + max) / 2;
}
