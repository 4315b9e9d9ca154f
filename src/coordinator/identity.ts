import type { ReadyCall } from './plan.ts';

/** Larger arguments are not compared: writing them down costs more than the second call is likely to. */
const LONGEST_IDENTITY = 65_536;

/**
 * A text that two calls share exactly when running both is pointless: the same tool, arguments, dependencies and
 * overrides. Undefined if the arguments cannot be written down.
 */
export function identityOf({ tool, input, call, dependsOn }: ReadyCall): string | undefined {
  const { onDependencyFailure, priority, timeoutMs, stallMs, deadlineMs, retry, resources } = call;
  const overrides = { onDependencyFailure, priority, timeoutMs, stallMs, deadlineMs, retry, resources };
  try {
    const text = JSON.stringify([tool.name, input, [...dependsOn].sort(), overrides], sortKeys);
    return text.length > LONGEST_IDENTITY ? undefined : text;
  } catch {
    // A cycle or a BigInt: such an input is not compared.
    return undefined;
  }
}

/** Objects with the same fields in another order are the same. What is no plain data makes the text impossible. */
function sortKeys(_: string, value: unknown): unknown {
  if (typeof value === 'function' || typeof value === 'symbol') throw new TypeError('no plain data');
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) throw new TypeError('no plain data');
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
