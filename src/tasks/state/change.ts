import { VolleyError } from '../../core/errors.ts';
import type { Feature, Subtask } from '../feature.ts';

/** Fields of one file that shall be set; `undefined` takes one out. */
export interface Change {
  readonly file: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

const LONGEST_TEXT = 65_536;

/** A file must stay small enough to be read again. */
export function checkText(what: string, text: string): void {
  if (text.length <= LONGEST_TEXT) return;
  const message = `The ${what} has ${text.length} characters: ${LONGEST_TEXT} at most.`;
  throw new VolleyError('INVALID_VALUE', message, { length: text.length });
}

/** Why something cannot be done with a subtask as it stands. */
export function refused(
  { name }: Feature,
  { seq }: Subtask,
  why: string,
  details: Readonly<Record<string, unknown>> = {},
): VolleyError {
  return new VolleyError('SUBTASK_REFUSED', `Subtask ${seq} of ${name} ${why}`, {
    feature: name,
    seq,
    ...details,
  });
}
