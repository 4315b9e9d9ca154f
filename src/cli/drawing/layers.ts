/** What depends on what, by the places of a list. */
export interface Dependencies {
  /** For each its dependencies, each once, without itself. */
  readonly before: readonly (readonly number[])[];
  /** For each those that depend on it. */
  readonly after: readonly (readonly number[])[];
}

/** Finds the places of the ids; an id that is not in the list is passed over. */
export function dependenciesOf(
  items: readonly { readonly id: string; readonly dependsOn: readonly string[] }[],
): Dependencies {
  const placeOf = new Map(items.map(({ id }, place) => [id, place]));
  const after: number[][] = items.map(() => []);
  const before = items.map(({ dependsOn }, place) => {
    const places = new Set<number>();
    for (const id of dependsOn) {
      const found = placeOf.get(id);
      if (found !== undefined && found !== place) places.add(found);
    }
    for (const found of places) after[found]!.push(place);
    return [...places];
  });
  return { before, after };
}

/** An order in which each stands behind what it depends on; what is in a circle comes last. */
export function topologicalPlaces({ before, after }: Dependencies): number[] {
  const open = before.map(({ length }) => length);
  const order = open.flatMap((count, place) => (count === 0 ? [place] : []));
  for (let next = 0; next < order.length; next++) {
    for (const place of after[order[next]!]!) if (--open[place]! === 0) order.push(place);
  }
  return order.length === before.length
    ? order
    : [...order, ...open.flatMap((count, place) => (count > 0 ? [place] : []))];
}

/** For each the length of the longest chain before it: 0 for what depends on nothing. */
export function depthsOf(dependencies: Dependencies): number[] {
  const depths: number[] = new Array(dependencies.before.length).fill(0);
  for (const place of topologicalPlaces(dependencies)) {
    for (const earlier of dependencies.before[place]!) {
      depths[place] = Math.max(depths[place]!, depths[earlier]! + 1);
    }
  }
  return depths;
}
