import { VolleyError } from './errors.ts';
import { nearest } from './nearest.ts';
import { show } from './numbers.ts';

/**
 * Refuses a name that means nothing, before somebody believes that it does; `what` is such as `option of an engine`. Not
 * for what comes with every execution.
 */
export function checkKnown(what: string, given: object, known: ReadonlySet<string>): void {
  for (const name of Object.keys(given)) {
    if (known.has(name)) continue;
    const close = nearest(name, known);
    const help =
      close === undefined ? `; there is ${[...known].join(', ')}.` : `; did you mean ${show(close)}?`;
    throw new VolleyError('INVALID_VALUE', `${show(name)} is no ${what}${help}`, { name, nearest: close });
  }
}
