import type { Failure } from './failure.ts';

/** Converts a caller's reason of any type to readable text. */
export function reasonText(reason: unknown): string {
  if (reason === undefined) return 'no reason was given';
  try {
    const { message } = reason instanceof Error ? reason : { message: undefined };
    return typeof message === 'string' ? message : String(reason);
  } catch {
    // An object without a prototype, a revoked proxy, or a `toString` that throws.
    return 'a reason that cannot be shown as text';
  }
}

export const TOO_DEEP = 'its lists and objects are nested too deeply';

/** Why a value could not be serialized, without a final period. Replaces V8's message about nesting depth. */
export function unwritableText(error: unknown): string {
  const text = reasonText(error);
  if (!(error instanceof RangeError)) return text.split('\n')[0]!.replace(/\.$/, '');
  return text.includes('string length') ? 'it is too long' : TOO_DEEP;
}

/** Summarizes why an attempt failed. */
export function failureText({ reason, error }: Failure): string {
  return error === undefined ? reason : `${reason} (${reasonText(error)})`;
}

/** Formats a duration: `850 ms`, `1.5 s`, `2 min 5 s`, `1 h 3 min`. */
export function spanText(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 59.95) return `${Number(seconds.toFixed(1))} s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return twoParts(Math.floor(whole / 60), 'min', whole % 60, 's');
  const minutes = Math.round(seconds / 60);
  return twoParts(Math.floor(minutes / 60), 'h', minutes % 60, 'min');
}

/** Formats a list: `a`, `a and b`, `a, b and 3 more` if some are left out. */
export function listText(listed: readonly string[], total = listed.length): string {
  const more = total - listed.length;
  if (more > 0) return `${listed.join(', ')} and ${more} more`;
  return listed.length < 2 ? listed.join('') : `${listed.slice(0, -1).join(', ')} and ${listed.at(-1)}`;
}

/** `1 execution`, `2 executions`. */
export function countText(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

function twoParts(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`;
}

/** `maxRetries`, `max-retries` and `MAX_RETRIES` as `max_retries`. */
export function snakeCase(name: string): string {
  return name
    .trim()
    .replace(/([a-z\d])([A-Z])/g, '$1_$2')
    .replace(/[\s-]+/g, '_')
    .toLowerCase();
}

/** A number for people: `12`, `3.4`, `0.25`. */
export function roundedText(value: number): string {
  if (value >= 100) return String(Math.round(value));
  return String(Number(value.toPrecision(2)));
}

/** A size for people: `812 bytes`, `1.2 MB`. */
export function bytesText(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`;
  if (bytes < 1_000_000) return `${roundedText(bytes / 1000)} KB`;
  return `${roundedText(bytes / 1_000_000)} MB`;
}
