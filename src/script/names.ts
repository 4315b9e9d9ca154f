/** What a bare name never refers to as a task: words of the language, and what every script can already use. */
const TAKEN = new Set(
  `await break case catch class const continue debugger default delete do else enum export extends false finally for
  function if implements import in instanceof interface let new null package private protected public return static
  super switch this throw true try typeof var void while with yield
  arguments eval undefined NaN Infinity globalThis results
  Object Function Error EvalError RangeError ReferenceError SyntaxError TypeError URIError InternalError AggregateError
  Iterator Array parseInt parseFloat isNaN isFinite queueMicrotask decodeURI decodeURIComponent encodeURI
  encodeURIComponent escape unescape Number Boolean String Math Reflect Symbol Date RegExp JSON Proxy Map Set WeakMap
  WeakSet ArrayBuffer Uint8ClampedArray Int8Array Uint8Array Int16Array Uint16Array Int32Array Uint32Array
  BigInt64Array BigUint64Array Float16Array Float32Array Float64Array DataView Promise BigInt DOMException`.split(
    /\s+/,
  ),
);

const IDENTIFIER = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u;

/** Whether a script can refer to this id by a name of its own, and not only as `results['id']`. */
export function isName(id: string): boolean {
  return IDENTIFIER.test(id) && !TAKEN.has(id);
}
