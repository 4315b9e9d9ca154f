import { VolleyError } from '../core/errors.ts';

/** The maximum length of an expression. Parsing happens in the main thread. */
const MAX_LENGTH = 20_000;

/** An expression without what may follow it: spaces and a semicolon. */
export function expressionText(source: string): string {
  if (source.length > MAX_LENGTH) {
    throw new VolleyError(
      'INVALID_EXPRESSION',
      `The expression has ${source.length} characters; at most ${MAX_LENGTH} are allowed. Use a program instead.`,
    );
  }
  if (source.includes('\0')) {
    throw new VolleyError('INVALID_EXPRESSION', 'The expression contains a NUL character.');
  }
  let end = source.length;
  while (end > 0 && (source[end - 1] === ';' || source[end - 1]!.trim() === '')) end--;
  return source.slice(0, end);
}
