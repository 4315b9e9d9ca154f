/** The items, each behind what it depends on; or one cycle, each of whose items depends on the next. */
interface TopologicalOrder<T> {
  /** Without those that a cycle keeps out. */
  readonly order: T[];
  readonly cycle: T[] | undefined;
}

/**
 * Kahn's algorithm for small graphs of any items. Items that depend on nothing keep their order. A dependency that is
 * not among the items is an error of the caller. The scheduler has the same over arrays of numbers, in {@link Block}.
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

/** Every item that is left waits for another that is left: following them must come round. */
function findCycle<T>(open: ReadonlyMap<T, ReadonlySet<T>>): T[] {
  const walked = new Map<T, number>();
  let [at] = [...open].find(([, left]) => left.size > 0)!;
  while (!walked.has(at)) {
    walked.set(at, walked.size);
    at = open.get(at)!.values().next().value!;
  }
  return [...walked.keys()].slice(walked.get(at));
}
