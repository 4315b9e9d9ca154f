import type { ReadyCall } from './plan.ts';

/** Larger arguments are not compared: writing them down costs more than the second call is likely to. */
const LONGEST_IDENTITY = 65_536;

/**
 * A text that two calls share exactly when running both is pointless: the same tool, arguments, dependencies and
 * overrides. Undefined if the arguments cannot be written down without loss.
 */
export function identityOf({ tool, input, call, dependsOn }: ReadyCall): string | undefined {
  const { onDependencyFailure, priority, timeoutMs, stallMs, deadlineMs, retry, resources } = call;
  const overrides = [onDependencyFailure, priority, timeoutMs, stallMs, deadlineMs, retry, resources];
  const said = overrides.map((override) => (override === undefined ? [] : [finite(override)]));
  try {
    const text = JSON.stringify([tool.name, input, [...dependsOn].sort(), said], plainData);
    return text.length > LONGEST_IDENTITY ? undefined : text;
  } catch {
    // A cycle, a BigInt or what is no plain data: such an input is not compared.
    return undefined;
  }
}

/** Infinity is a time limit like any other, but JSON has no word for it. */
function finite(override: unknown): unknown {
  return override === Number.POSITIVE_INFINITY ? 'Infinity' : override;
}

/**
 * Objects with the same fields in another order are the same. What JSON would change or leave out makes the text
 * impossible: two inputs that differ must not look alike. `value` may have gone through a `toJSON` already.
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
