import { VolleyError } from '../core/errors.ts';
import { show } from '../core/numbers.ts';

/** Longer steps are truncated. */
const MAX_STEP = 4096;

/** Checks the arguments of `report()`; other threads and processes check theirs before they send them. */
export function checkReport(
  first: unknown,
  second: unknown,
): { readonly share: number | undefined; readonly step: string | undefined } {
  if (typeof first === 'string') return { share: undefined, step: first.slice(0, MAX_STEP) };
  if (typeof first !== 'number' || !(first >= 0 && first <= 1)) {
    throw new VolleyError(
      'INVALID_VALUE',
      `report() takes a number from 0 to 1 or a string, but it got ${show(first)}.`,
    );
  }
  if (second !== undefined && typeof second !== 'string') {
    throw new VolleyError(
      'INVALID_VALUE',
      `The step of report() must be a string, but it is ${show(second)}.`,
    );
  }
  return { share: first, step: second?.slice(0, MAX_STEP) };
}
