import { VolleyError } from './errors.ts';
import { nearest } from './nearest.ts';
import { show } from './numbers.ts';

/** Rejects unknown fields. `what` completes the message, e.g. `option of an engine`. */
export function checkKnown(what: string, given: object, known: ReadonlySet<string>): void {
  for (const field in given) if (!known.has(field)) refuseUnknown(what, field, given, known);
}

/**
 * Like `checkKnown`, for objects that come with every execution. Objects built alike have the same fields in the same
 * order, so most fields are only compared with those of the previous object.
 */
export class KnownFields {
  private readonly last: string[] = [];

  constructor(
    private readonly what: string,
    private readonly known: ReadonlySet<string>,
  ) {}

  check(given: object): void {
    const { last } = this;
    let at = 0;
    for (const field in given) {
      if (field !== last[at]) {
        if (this.known.has(field)) last[at] = field;
        else refuseUnknown(this.what, field, given, this.known);
      }
      at++;
    }
  }
}

/** Throws for an unknown field, unless it is inherited or undefined, and suggests the nearest known one. */
function refuseUnknown(what: string, field: string, given: object, known: ReadonlySet<string>): void {
  if (!Object.hasOwn(given, field) || given[field as keyof object] === undefined) return;
  const close = nearest(field, known);
  const help = close === undefined ? `valid are ${[...known].join(', ')}.` : `did you mean ${show(close)}?`;
  throw new VolleyError('INVALID_VALUE', `Unknown ${what} ${show(field)}; ${help}`, {
    field,
    nearest: close,
  });
}
