/** The items in dependency order, or one cycle in which each item depends on the next. */
interface TopologicalOrder<T> {
  /** Without the items blocked by a cycle. */
  readonly order: T[];
  readonly cycle: T[] | undefined;
}

/**
 * Kahn's algorithm for small graphs. Items without dependencies keep their order. A dependency that is not among the
 * items is a caller error. The scheduler has its own version over arrays of numbers, in {@link Block}.
 */
export function topologicalOrder<T>(
  items: readonly T[],
  dependenciesOf: (item: T) => Iterable<T>,
): TopologicalOrder<T> {
  const open = new Map(items.map((item): [T, Set<T>] => [item, new Set(dependenciesOf(item))]));
  const dependents = new Map(items.map((item): [T, T[]] => [item, []]));
  for (const [item, dependencies] of open)
    for (const dependency of dependencies) dependents.get(dependency)!.push(item);
  const order = items.filter((item) => open.get(item)!.size === 0);
  for (const item of order) {
    for (const dependent of dependents.get(item)!) {
      const left = open.get(dependent)!;
      left.delete(item);
      if (left.size === 0) order.push(dependent);
    }
  }
  return { order, cycle: order.length === items.length ? undefined : findCycle(open) };
}

/** Every remaining item waits for another remaining one, so following them finds a cycle. */
function findCycle<T>(open: ReadonlyMap<T, ReadonlySet<T>>): T[] {
  const walked = new Map<T, number>();
  let [at] = [...open].find(([, left]) => left.size > 0)!;
  while (!walked.has(at)) {
    walked.set(at, walked.size);
    at = open.get(at)!.values().next().value!;
  }
  return [...walked.keys()].slice(walked.get(at));
}
