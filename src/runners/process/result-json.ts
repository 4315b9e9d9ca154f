import { VolleyError } from '../../core/errors.ts';
import { unwritableText } from '../../core/words.ts';

/** How deep lists and objects may lie in one another: whoever walks through a result later must be able to. */
const MAX_DEPTH = 1000;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENING = 0x7b;
const CLOSING = 0x7d;

/**
 * A result as JSON; undefined is the empty text. The host reads only JSON of a process, whatever runs in it: V8's own
 * format can claim an array of any size in a few bytes, and a hostile process must not be able to do that to the host.
 * What JSON would silently change or leave out is refused, except members that are undefined and what `toJSON` makes
 * of an object (a Date becomes its text).
 */
export function toJson(result: unknown, toolName: string, maxBytes: number): string {
  let json: string;
  try {
    // A text that long may be more than a string can hold; the error of that is not about the value.
    json = result === undefined ? '' : JSON.stringify(result, refuseStrange);
  } catch (cause) {
    if (cause instanceof RangeError && cause.message.includes('string length'))
      throw tooLarge(toolName, undefined, maxBytes);
    throw new VolleyError(
      'UNSERIALISABLE_RESULT',
      `The result of the tool "${toolName}" cannot be sent back: ${unwritableText(cause)}. Return plain data.`,
      { toolName },
      { cause },
    );
  }
  const bytes = Buffer.byteLength(json);
  if (bytes > maxBytes) throw tooLarge(toolName, bytes, maxBytes);
  return json;
}

export function tooLarge(toolName: string, bytes: number | undefined, maxBytes: number): VolleyError {
  return new VolleyError(
    'RESULT_TOO_LARGE',
    `The result of the tool "${toolName}" takes ${bytes === undefined ? 'far ' : `${bytes} bytes, `}more than its limit of ${maxBytes} bytes: return less, or raise \`resultBytes\`.`,
    { toolName, bytes, maxBytes },
  );
}

/** Whether something in a JSON text lies too deep; told without reading it, so before anything is made of it. */
export function isTooDeep(json: Buffer): boolean {
  if (json.length <= 2 * MAX_DEPTH) return false;
  let depth = 0;
  let isText = false;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (isText) {
      if (byte === BACKSLASH) at++;
      else if (byte === QUOTE) isText = false;
    } else if (byte === QUOTE) isText = true;
    // The brackets differ from the braces in one bit.
    else if ((byte! | 0x20) === OPENING && ++depth > MAX_DEPTH) return true;
    else if ((byte! | 0x20) === CLOSING) depth--;
  }
  return false;
}

export function tooDeep(toolName: string): VolleyError {
  return new VolleyError(
    'UNSERIALISABLE_RESULT',
    `The result of the tool "${toolName}" has lists or objects in one another more than ${MAX_DEPTH} deep: return flatter data.`,
    { toolName },
  );
}

function refuseStrange(this: Readonly<Record<string, unknown>>, key: string, value: unknown): unknown {
  // A Buffer has a `toJSON` of its own, which makes a list of numbers of it: hardly what anybody wants.
  const problem = ArrayBuffer.isView(this[key]) ? 'binary data' : strangeness(value);
  if (problem === undefined) return value;
  throw new TypeError(key === '' ? `it is ${problem}` : `its member "${key}" is ${problem}`);
}

function strangeness(value: unknown): string | undefined {
  switch (typeof value) {
    case 'function':
      return 'a function';
    case 'symbol':
      return 'a symbol';
    case 'bigint':
      return 'a bigint';
    case 'number':
      return Number.isFinite(value) ? undefined : `the number ${value}`;
    case 'object':
      if (value instanceof Map || value instanceof Set) return `a ${value.constructor.name}`;
      if (value instanceof Promise) return 'a promise';
      return value instanceof ArrayBuffer ? 'binary data' : undefined;
    default:
      return undefined;
  }
}
