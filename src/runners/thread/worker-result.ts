import { serialize } from 'node:v8';
import { VolleyError } from '../../core/errors.ts';
import { unwritableText } from '../../core/words.ts';

/** Throws if a result is larger than its limit. */
export function checkResultSize(value: unknown, limitBytes: number, toolName: string): void {
  const bytes = sizeOf(value, toolName);
  if (bytes <= limitBytes) return;
  throw new VolleyError(
    'RESULT_TOO_LARGE',
    `The result of the tool "${toolName}" has ${bytes} bytes, but its limit is ${limitBytes}. Return less, or raise \`resultBytes\`.`,
    { toolName, bytes, limitBytes },
  );
}

export function unsendableResult(toolName: string, cause: unknown): VolleyError {
  return new VolleyError(
    'UNSERIALISABLE_RESULT',
    `The result of the tool "${toolName}" cannot be sent out of its thread: ${unwritableText(cause)}. Return plain data.`,
    { toolName },
    { cause },
  );
}

/** As it is serialised to be sent. Simple values are not serialised just to be measured. */
function sizeOf(value: unknown, toolName: string): number {
  switch (typeof value) {
    case 'undefined':
    case 'boolean':
    case 'number':
      return 8;
    case 'string':
      return Buffer.byteLength(value);
    default:
      if (value === null) return 8;
      try {
        return serialize(value).byteLength;
      } catch (error) {
        throw unsendableResult(toolName, error);
      }
  }
}
