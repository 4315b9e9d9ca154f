import { spanText } from '../../core/words.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** A time that is not known exactly. */
export interface TimeRange {
  readonly lowMs: number;
  readonly highMs: number;
}

/** A whole number with commas between thousands: `12,345`. */
export function numberText(value: number): string {
  const digits = String(Math.abs(Math.round(value)));
  let text = digits.slice(-3);
  for (let end = digits.length - 3; end > 0; end -= 3) {
    text = `${digits.slice(Math.max(0, end - 3), end)},${text}`;
  }
  return value < 0 ? `-${text}` : text;
}

/** A share of 0 to 1: `62%`. All of it is said only when it is all, and nothing only when it is nothing. */
export function percentText(share: number): string {
  if (!(share > 0)) return '0%';
  if (share >= 1) return '100%';
  return share < 0.01 ? '<1%' : `${Math.min(99, Math.floor(share * 100))}%`;
}

/** `1,240/s`, `3.5/s`, `12/min`, `2/h`. */
export function rateText(perSecond: number): string {
  if (perSecond >= 1) return `${roundText(perSecond)}/s`;
  if (perSecond * 60 >= 1) return `${roundText(perSecond * 60)}/min`;
  return `${roundText(perSecond * 3600)}/h`;
}

/** How many times: `4.1`, `0.9`, `120`. */
export function factorText(factor: number): string {
  return roundText(factor);
}

/** `about 40 s`, `30 to 50 s`, `2 to 4 min`: rounded so that it does not change with every look. */
export function rangeText({ lowMs, highMs }: TimeRange): string {
  const low = roughly(lowMs);
  const high = roughly(Math.max(lowMs, highMs));
  if (low === high) return high <= SECOND ? 'about 1 s' : `about ${spanText(high)}`;
  const [lowText, highText] = [spanText(low), spanText(high)];
  const unit = highText.slice(highText.lastIndexOf(' '));
  const isSimple = lowText.split(' ').length === 2 && highText.split(' ').length === 2;
  if (isSimple && lowText.endsWith(unit)) return `${lowText.slice(0, -unit.length)} to ${highText}`;
  return `${lowText} to ${highText}`;
}

/** To one second below 10, five below a minute, then half minutes and minutes; never zero. */
function roughly(ms: number): number {
  if (ms < 10 * SECOND) return step(ms, SECOND);
  if (ms < MINUTE) return step(ms, 5 * SECOND);
  if (ms < 5 * MINUTE) return step(ms, MINUTE / 2);
  if (ms < HOUR) return step(ms, MINUTE);
  return step(ms, 10 * MINUTE);
}

function step(ms: number, by: number): number {
  return Math.max(1, Math.round(ms / by)) * by;
}

/** One digit behind the point for small numbers. */
function roundText(value: number): string {
  return value < 9.95 ? String(Number(value.toFixed(1))) : numberText(value);
}
