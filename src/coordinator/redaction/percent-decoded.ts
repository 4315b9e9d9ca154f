import type { Span } from './span.ts';

const ENCODED = /%[0-9a-f]{2}/i;
const PIECE = /%([0-9a-f]{2})/gi;

/** A text as it is without percent-encoding. */
interface PercentDecoded {
  readonly text: string;
  /** Where a part of the decoded text stands in the encoded one. */
  source(span: Span): Span;
}

/** Undefined where nothing is encoded. Bytes are taken one by one: tokens are ASCII. */
export function percentDecoded(encoded: string): PercentDecoded | undefined {
  if (!ENCODED.test(encoded)) return undefined;
  const starts = new Uint32Array(encoded.length + 1);
  const pieces: string[] = [];
  let length = 0;
  let at = 0;
  const copy = (to: number) => {
    if (to > at) pieces.push(encoded.slice(at, to));
    for (; at < to; at++) starts[length++] = at;
  };
  for (const { 0: whole, 1: code, index } of encoded.matchAll(PIECE)) {
    copy(index);
    pieces.push(String.fromCharCode(Number.parseInt(code!, 16)));
    starts[length++] = index;
    at = index + whole.length;
  }
  copy(encoded.length);
  starts[length] = encoded.length;
  return { text: pieces.join(''), source: ([from, to]) => [starts[from]!, starts[to]!] };
}
