import { unreachable } from '../../core/errors.ts';
import type { CallResult } from '../call.ts';

/** What JSON can say. */
export type JsonValue = null | boolean | number | string | JsonValue[] | { [key: string]: JsonValue };

/** A result as a provider can take it: the value, or words that a model can act on. */
export type ShownResult =
  | { readonly isError: false; readonly value: JsonValue; readonly text: string }
  | { readonly isError: true; readonly text: string };

const NO_VALUE = '(no result)';

/** A text is given as it is, everything else as JSON. */
export function shownResult(result: CallResult): ShownResult {
  if (result.status !== 'completed') return { isError: true, text: failureText(result) };
  const { value } = result;
  if (typeof value === 'string') return { isError: false, value, text: value };
  try {
    const json = JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? String(part) : part));
    if (json === undefined) return { isError: false, value: null, text: NO_VALUE };
    return { isError: false, value: JSON.parse(json), text: json };
  } catch (error) {
    return { isError: true, text: `completed, but the result cannot be written as JSON: ${error}` };
  }
}

function failureText(result: Exclude<CallResult, { status: 'completed' }>): string {
  switch (result.status) {
    case 'failed': {
      const { reason, error, attempts } = result;
      const why = reason === 'error' && error.code !== undefined ? error.code : reason;
      return `failed (${why})${attempts > 1 ? ` after ${attempts} attempts` : ''}: ${error.message}`;
    }
    case 'cancelled':
      return `cancelled: ${result.reason}`;
    case 'skipped':
      return result.cause === undefined
        ? 'skipped: a call on which it depends did not end as needed'
        : `skipped: it depends on call ${result.cause}, which did not end as needed`;
    default:
      return unreachable(result);
  }
}
