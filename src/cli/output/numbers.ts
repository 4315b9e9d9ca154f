import { spanText } from '../../core/words.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

export interface TimeRange {
  readonly lowMs: number;
  readonly highMs: number;
}

/** `12,345`. */
export function numberText(value: number): string {
  const digits = String(Math.abs(Math.round(value)));
  let text = digits.slice(-3);
  for (let end = digits.length - 3; end > 0; end -= 3) {
    text = `${digits.slice(Math.max(0, end - 3), end)},${text}`;
  }
  return value < 0 ? `-${text}` : text;
}

/** `62%`. Shows 100% and 0% only if they are exact. */
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

/** `4.1`, `0.9`, `120`. */
export function factorText(factor: number): string {
  return roundText(factor);
}

/** `about 40 s`, `30 to 50 s`, `2 to 4 min`: rounded, so that it rarely changes. */
export function timeRangeText({ lowMs, highMs }: TimeRange): string {
  const low = roundTime(lowMs);
  const high = roundTime(Math.max(lowMs, highMs));
  if (low === high) return high <= SECOND ? 'about 1 s' : `about ${spanText(high)}`;
  const [lowText, highText] = [spanText(low), spanText(high)];
  const unit = highText.slice(highText.lastIndexOf(' '));
  const isSimple = lowText.split(' ').length === 2 && highText.split(' ').length === 2;
  if (isSimple && lowText.endsWith(unit)) return `${lowText.slice(0, -unit.length)} to ${highText}`;
  return `${lowText} to ${highText}`;
}

/** Rounds to 1 s below 10 s, to 5 s below a minute, then to half minutes and minutes. Never zero. */
function roundTime(ms: number): number {
  if (ms < 10 * SECOND) return roundTo(ms, SECOND);
  if (ms < MINUTE) return roundTo(ms, 5 * SECOND);
  if (ms < 5 * MINUTE) return roundTo(ms, MINUTE / 2);
  if (ms < HOUR) return roundTo(ms, MINUTE);
  return roundTo(ms, 10 * MINUTE);
}

function roundTo(ms: number, by: number): number {
  return Math.max(1, Math.round(ms / by)) * by;
}

/** Small numbers have one decimal. */
function roundText(value: number): string {
  return value < 9.95 ? String(Number(value.toFixed(1))) : numberText(value);
}
