/** A part of a string that is not shown: from the first position up to, not including, the second. */
export type SecretSpan = readonly [from: number, to: number];

/** What stands where a secret was. */
const REMOVED = '[redacted]';

/** The beginning of a string up to a position, without the spans. A span that reaches beyond it is removed as a whole. */
export function without(text: string, spans: readonly SecretSpan[], end: number): string {
  let shown = '';
  let at = 0;
  for (const [from, to] of merged(spans)) {
    if (from >= end) break;
    shown += text.slice(at, from) + REMOVED;
    at = to;
  }
  return shown + text.slice(at, Math.max(at, end));
}

/** Spans in their order; those that overlap or touch become one. */
function merged(spans: readonly SecretSpan[]): SecretSpan[] {
  const result: [number, number][] = [];
  for (const [from, to] of [...spans].sort((a, b) => a[0] - b[0])) {
    const last = result.at(-1);
    if (last !== undefined && from <= last[1]) last[1] = Math.max(last[1], to);
    else result.push([from, to]);
  }
  return result;
}
