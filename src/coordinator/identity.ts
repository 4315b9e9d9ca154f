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
  try {
    const text = JSON.stringify([tool.name, input, [...dependsOn].sort(), said], plainData);
    return text.length > MAX_IDENTITY_LENGTH ? undefined : text;
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
 * Sorts the fields of objects, and throws for what JSON would change or drop: different inputs must not look alike. The
 * second argument of a replacer may have gone through a `toJSON` already, so the value is read again.
 */
function plainData(this: Record<string, unknown>, key: string): unknown {
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
      if (isPlain(value)) return Array.isArray(value) ? value : sorted(value);
  }
  throw new TypeError('no plain data');
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
