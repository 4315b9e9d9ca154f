import { parse } from 'smol-toml';
import type { TomlTable } from './environment.ts';

/** Days that only some months, or some years, have. */
const RARE_DAY = /\d{4}-(?:02-(?:29|30)|(?:02|04|06|09|11)-31)/g;

/**
 * Reads TOML. The parser itself takes February 30 for March 2, so the text is read once more with a day in its place that
 * the parser refuses, at the right place and only where it is a value.
 */
export function parseToml(text: string): TomlTable {
  const data = parse(text);
  const checked = text.replace(RARE_DAY, (date) => (isDay(date) ? date : `${date.slice(0, -2)}99`));
  if (checked !== text) parse(checked);
  return data;
}

function isDay(date: string): boolean {
  return new Date(`${date}T00:00:00Z`).toISOString().startsWith(date);
}
