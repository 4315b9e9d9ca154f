/** A graph as a list of what each node depends on, by index. */
export type SmallGraph = readonly (readonly number[])[];

/** Every directed graph of `size` nodes; with `loops` a node may depend on itself too. */
export function* allGraphs(size: number, loops: boolean): Generator<SmallGraph> {
  const pairs: [number, number][] = [];
  for (let from = 0; from < size; from++) {
    for (let to = 0; to < size; to++) if (loops || from !== to) pairs.push([from, to]);
  }
  for (let mask = 0; mask < 2 ** pairs.length; mask++) {
    const graph: number[][] = Array.from({ length: size }, () => []);
    for (const [bit, [from, to]] of pairs.entries()) if (mask & (1 << bit)) graph[from]!.push(to);
    yield graph;
  }
}

/** An order in which each node stands behind what it depends on; undefined if there is a cycle. */
export function orderOf(graph: SmallGraph): number[] | undefined {
  const order: number[] = [];
  for (;;) {
    const next = graph.findIndex(
      (dependsOn, at) => !order.includes(at) && dependsOn.every((to) => order.includes(to)),
    );
    if (next < 0) return order.length === graph.length ? order : undefined;
    order.push(next);
  }
}

/** Every list of `length` items of the given choices. */
export function* allLists<T>(choices: readonly T[], length: number): Generator<T[]> {
  if (length === 0) {
    yield [];
    return;
  }
  for (const rest of allLists(choices, length - 1)) for (const choice of choices) yield [...rest, choice];
}

/** The same text for all graphs that differ in the order of their nodes only. */
export function shapeOf(graph: SmallGraph): string {
  const shapes = permutations(graph.length).map((places) => {
    const moved: string[] = [];
    for (const [at, dependsOn] of graph.entries()) {
      moved[places[at]!] = dependsOn
        .map((to) => places[to]!)
        .sort()
        .join();
    }
    return moved.join('|');
  });
  return shapes.sort()[0]!;
}

function permutations(size: number): number[][] {
  if (size === 0) return [[]];
  return permutations(size - 1).flatMap((rest) =>
    Array.from({ length: size }, (_, place) => [...rest.slice(0, place), size - 1, ...rest.slice(place)]),
  );
}
