import { internalError } from './errors.ts';

/** For the end of a switch over a union: a forgotten case does not compile. */
export function unreachable(value: never): never {
  throw internalError(`A case was forgotten: ${String(value)}`);
}
