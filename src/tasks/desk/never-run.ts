import { VolleyError } from '../../core/errors.ts';

/** What to say where a feature has no report. */
export function neverRun(feature: string): VolleyError {
  const message = `${feature} has not been run yet: volley tasks run ${feature} does.`;
  return new VolleyError('INVALID_VALUE', message, { feature });
}
