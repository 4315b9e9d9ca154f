import { VolleyError } from '../../core/errors.ts';
import { parseExactJson } from '../../core/json-numbers.ts';
import { show } from '../../core/numbers.ts';
import type { ToolCall } from '../call.ts';

/**
 * Arguments that came as JSON text. Models write broken JSON now and then: that is the failure of one call, not of the
 * message. An empty text stands for no arguments.
 */
export function parsedArguments(text: unknown): Pick<ToolCall, 'arguments' | 'invalid'> {
  // Some servers that speak the format give the object itself.
  if (typeof text !== 'string') return { arguments: text ?? {} };
  if (text.trim() === '') return { arguments: {} };
  try {
    return { arguments: parseExactJson(text) ?? {} };
  } catch (error) {
    if (error instanceof VolleyError) return { invalid: error.message };
    return { invalid: `not valid JSON: ${(error as Error).message}` };
  }
}

/** A list of a message; an error says which message was expected. */
export function listOf<T>(list: readonly T[] | null | undefined, expected: string): readonly T[] {
  if (Array.isArray(list)) return list;
  throw new VolleyError(
    'INVALID_CALL',
    `This is not ${expected}: there is ${show(list)} in place of the list.`,
  );
}
