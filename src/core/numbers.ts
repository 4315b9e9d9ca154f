import { VolleyError } from './errors.ts';

/** Validates a number from a caller, so that NaN never reaches the scheduler's arithmetic. */
export function checkNumber(
  name: string,
  value: unknown,
  rules: { min: number; max?: number; integer?: boolean; allowInfinity?: boolean },
): number {
  const { min, max = Number.MAX_SAFE_INTEGER, integer = false, allowInfinity = false } = rules;
  if (typeof value === 'number') {
    if (value === Number.POSITIVE_INFINITY && allowInfinity) return value;
    if (value >= min && value <= max && (!integer || Number.isInteger(value))) return value;
  }
  const kind = integer ? 'a whole number' : 'a number';
  const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
  const infinity = allowInfinity ? ' or Infinity' : '';
  throw new VolleyError(
    'INVALID_VALUE',
    `${name} must be ${kind} ${range}${infinity}, but it is ${show(value)}.`,
    {
      name,
      value,
    },
  );
}

/** Validates that a value is an object. */
export function checkObject(name: string, value: unknown): void {
  if (typeof value === 'object' && value !== null) return;
  throw new VolleyError('INVALID_VALUE', `${name} must be an object, but it is ${show(value)}.`);
}

export function checkBoolean(name: string, value: unknown): void {
  if (typeof value === 'boolean') return;
  throw new VolleyError('INVALID_VALUE', `${name} must be true or false, but it is ${show(value)}.`);
}

/** The maximum duration (about 24 days): longer timers cannot be set. */
export const MAX_SPAN_MS = 2 ** 31 - 1;

/** A caller's duration in whole milliseconds, or `none` (0) if omitted or Infinity. */
export function checkSpanMs(name: string, value: unknown, none = 0): number {
  if (value === undefined) return none;
  if (typeof value === 'number' && value >= 0.001 && value <= MAX_SPAN_MS) return Math.ceil(value);
  if (value === Number.POSITIVE_INFINITY) return 0;
  return checkNumber(name, value, { min: 0.001, max: MAX_SPAN_MS, allowInfinity: true });
}

/** Characters that JSON does not escape but that may control a terminal or change text direction. */
const UNSEEN = /[\p{Cc}\u2028-\u202e\u2066-\u2069]/gu;

/** A caller's value for a message: short, printable and on one line. */
export function show(value: unknown): string {
  if (typeof value === 'string') {
    const text = JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value);
    return text.replace(UNSEEN, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`);
  }
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'an array' : 'an object';
  return String(value);
}
