/**
 * Whether lists and objects are nested more than `most` levels deep. Walks level by level, because recursion would
 * overflow the stack on a deeply nested value.
 */
export function isDeeperThan(value: unknown, most: number): boolean {
  let level = insides([value]);
  for (let depth = 0; level.size > 0; depth++) {
    if (depth === most) return true;
    level = insides([...level].flatMap((one) => Object.values(one)));
  }
  return false;
}

/** Each object once, since the same object may occur in many places. */
function insides(values: readonly unknown[]): Set<object> {
  return new Set(values.filter((value) => typeof value === 'object' && value !== null) as object[]);
}
