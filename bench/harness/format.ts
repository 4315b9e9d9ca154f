import type { Spread } from './statistics.ts';

/** A number with about three significant digits, or whole with separators. */
export function short(value: number): string {
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en-US');
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 2);
}

/** The median with half the range of all repeats, in percent of it. */
export function withSpread({ median, min, max }: Spread, unit: string): string {
  const percent = Math.round(((max - min) / 2 / median) * 100);
  return `${short(median)}${unit} ± ${percent} %`;
}

export function times(ratio: number): string {
  return `${short(ratio)} ×`;
}
