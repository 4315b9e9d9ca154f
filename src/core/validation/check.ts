import { internalError } from '../errors.ts';
import type { Execution } from '../execution.ts';

/** Throws an error that names the invariant and the execution where it does not hold. */
export function check(holds: boolean, invariant: string, about?: Execution): asserts holds {
  if (holds) return;
  const whose = about === undefined ? '' : `: ${describe(about)}`;
  throw internalError(`Broken invariant: ${invariant}${whose}`);
}

function describe({ id, statusName, attempt, room }: Execution): string {
  return `${id} (${statusName}, attempt ${attempt}, room ${room})`;
}

export function count<T>(items: Iterable<T>, matches: (item: T) => boolean): number {
  let total = 0;
  for (const item of items) if (matches(item)) total++;
  return total;
}
