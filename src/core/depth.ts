/**
 * Whether lists and objects lie in one another deeper than that. It looks level by level: what works by recursion would
 * not come back from a value that is nested without measure.
 */
export function isDeeperThan(value: unknown, most: number): boolean {
  let level = insides([value]);
  for (let depth = 0; level.size > 0; depth++) {
    if (depth === most) return true;
    level = insides([...level].flatMap((one) => Object.values(one)));
  }
  return false;
}

/** Each once, for the same object may stand in many places. */
function insides(values: readonly unknown[]): Set<object> {
  return new Set(values.filter((value) => typeof value === 'object' && value !== null) as object[]);
}
