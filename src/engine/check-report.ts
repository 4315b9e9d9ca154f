import { VolleyError } from '../core/errors.ts';
import { show } from '../core/numbers.ts';

/** More of a step is never sent on. */
const MAX_STEP = 4096;

/** Checks what a tool reports, in this thread or, before it is sent, in another thread or process. */
export function checkReport(
  first: unknown,
  second: unknown,
): { readonly share: number | undefined; readonly step: string | undefined } {
  if (typeof first === 'string') return { share: undefined, step: first.slice(0, MAX_STEP) };
  if (typeof first !== 'number' || !(first >= 0 && first <= 1)) {
    throw new VolleyError(
      'INVALID_VALUE',
      `report() takes a share from 0 to 1 or a text, but it got ${show(first)}.`,
    );
  }
  if (second !== undefined && typeof second !== 'string') {
    throw new VolleyError(
      'INVALID_VALUE',
      `The step that report() takes must be a text, but it is ${show(second)}.`,
    );
  }
  return { share: first, step: second?.slice(0, MAX_STEP) };
}
