import { isObject } from '../core/values.ts';
import type { ReadyCall } from './plan.ts';

/** Larger arguments are not compared: serializing them is likely to cost more than the second call. */
const MAX_IDENTITY_LENGTH = 65_536;

/**
 * Returns a string that two calls share if running both is pointless: the same tool, arguments, dependencies and
 * overrides. Undefined if JSON would lose something of the arguments.
 */
export function identityOf({ tool, input, call, dependsOn }: ReadyCall): string | undefined {
  const { onDependencyFailure, priority, timeoutMs, stallMs, deadlineMs, retry, resources } = call;
  const overrides = [onDependencyFailure, priority, timeoutMs, stallMs, deadlineMs, retry, resources];
  const said = overrides.map((override) => (override === undefined ? [] : [finite(override)]));
  const text = canonicalJson([tool.name, input, [...dependsOn].sort(), said]);
  return text === undefined || text.length > MAX_IDENTITY_LENGTH ? undefined : text;
}

/** JSON with the fields of objects sorted. Undefined if JSON would lose something of the value. */
export function canonicalJson(value: unknown): string | undefined {
  return writePlain(value, sortedPlain);
}

/** JSON as it is. Undefined if JSON would lose something of the value. */
export function faithfulJson(value: unknown): string | undefined {
  return writePlain(value, plain);
}

function writePlain(value: unknown, replacer: typeof plain): string | undefined {
  try {
    return JSON.stringify(value, replacer);
  } catch {
    // A cycle, a BigInt or other data that JSON does not have.
    return undefined;
  }
}

/** JSON has no Infinity, which is a valid timeout. */
function finite(override: unknown): unknown {
  return override === Number.POSITIVE_INFINITY ? 'Infinity' : override;
}

/**
 * Throws for what JSON would change or drop: different values must not look alike. The second argument of a replacer may
 * have gone through a `toJSON` already, so the value is read again.
 */
function plain(this: Record<string, unknown>, key: string): unknown {
  const value = this[key];
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      if (Number.isFinite(value) && !Object.is(value, -0)) return value;
      break;
    case 'object':
      if (value === null) return value;
      if (isPlain(value)) return value;
  }
  throw new TypeError('no plain data');
}

function sortedPlain(this: Record<string, unknown>, key: string): unknown {
  const value = plain.call(this, key);
  return !isObject(value) ? value : sorted(value);
}

function isPlain(value: object): boolean {
  if ('toJSON' in value || Object.getOwnPropertySymbols(value).length > 0) return false;
  if (Array.isArray(value)) return true;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function sorted(value: object): object {
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
