import { VolleyError } from './errors.ts';
import { nearest } from './nearest.ts';
import { show } from './numbers.ts';

/** Rejects unknown fields. `what` completes the message, e.g. `option of an engine`. */
export function checkKnown(what: string, given: object, known: ReadonlySet<string>): void {
  for (const field in given)
    if (!known.has(field) && isGiven(given, field)) throw unknownField(what, field, known);
}

/**
 * Like `checkKnown`, for objects that come with every execution. Objects built alike have the same fields in the same
 * order, so most fields are only compared with those of the previous object.
 */
export class KnownFields {
  private readonly last: string[] = [];

  constructor(
    private readonly what: string,
    protected readonly known: ReadonlySet<string>,
  ) {}

  check(given: object): void {
    const { last } = this;
    let at = 0;
    for (const field in given) {
      if (field !== last[at]) {
        if (this.known.has(field)) last[at] = field;
        else if (isGiven(given, field)) throw this.unknown(field);
      }
      at++;
    }
  }

  protected unknown(field: string): VolleyError {
    return unknownField(this.what, field, this.known);
  }
}

/** Inherited fields and those that are undefined do not count. */
function isGiven(given: object, field: string): boolean {
  return Object.hasOwn(given, field) && given[field as keyof object] !== undefined;
}

/** The error for an unknown field, with the nearest known one. */
function unknownField(what: string, field: string, known: ReadonlySet<string>): VolleyError {
  const close = nearest(field, known);
  const help = close === undefined ? `valid are ${[...known].join(', ')}.` : `did you mean ${show(close)}?`;
  return new VolleyError('INVALID_VALUE', `Unknown ${what} ${show(field)}; ${help}`, {
    field,
    nearest: close,
  });
}
