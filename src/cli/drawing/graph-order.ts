/** Items in columns, and lines between neighbouring columns. Dummies stand where a line passes a column. */
export interface Columns {
  /** For each column its items, from top to bottom. */
  readonly columns: readonly number[][];
  /** For each item those it is joined with in the column before, and in the one behind. */
  readonly left: readonly (readonly number[])[];
  readonly right: readonly (readonly number[])[];
}

const MAX_SWEEPS = 12;

/**
 * Sorts each column so that few lines cross: again and again each item goes to the mean place of what it is joined
 * with, from left to right and back. The best order that was seen is kept.
 */
export function reduceCrossings({ columns, left, right }: Columns): number[][] {
  const places: number[] = new Array(left.length).fill(0);
  let order = columns.map((column) => [...column]);
  const note = (column: readonly number[]) => {
    for (const [place, item] of column.entries()) places[item] = place;
  };
  order.forEach(note);
  let best = order;
  let fewest = crossings(order, right, places);
  for (let sweep = 0; sweep < MAX_SWEEPS && fewest > 0; sweep++) {
    order = order.map((column) => [...column]);
    const isForward = sweep % 2 === 0;
    const neighbours = isForward ? left : right;
    for (let step = 1; step < order.length; step++) {
      const column = order[isForward ? step : order.length - 1 - step]!;
      const means = new Map(
        column.map((item) => [item, meanPlace(neighbours[item]!, places, places[item]!)]),
      );
      column.sort((a, b) => means.get(a)! - means.get(b)! || places[a]! - places[b]!);
      note(column);
    }
    const count = crossings(order, right, places);
    if (count < fewest) {
      best = order;
      fewest = count;
    }
  }
  return best;
}

/** An item that is joined with nothing stays where it is. */
function meanPlace(neighbours: readonly number[], places: readonly number[], own: number): number {
  if (neighbours.length === 0) return own;
  return neighbours.reduce((sum, item) => sum + places[item]!, 0) / neighbours.length;
}

/** How many pairs of lines cross, counted with a binary indexed tree for each pair of columns. */
function crossings(
  order: readonly (readonly number[])[],
  right: readonly (readonly number[])[],
  places: readonly number[],
): number {
  let count = 0;
  for (const [index, column] of order.entries()) {
    const size = order[index + 1]?.length ?? 0;
    const tree = new Int32Array(size + 1);
    let lines = 0;
    for (const item of column) {
      const ends = right[item]!.map((other) => places[other]!);
      for (const end of ends) count += lines - sumUpTo(tree, end + 1);
      for (const end of ends) for (let at = end + 1; at <= size; at += at & -at) tree[at]!++;
      lines += ends.length;
    }
  }
  return count;
}

function sumUpTo(tree: Int32Array, place: number): number {
  let sum = 0;
  for (let at = place; at > 0; at -= at & -at) sum += tree[at]!;
  return sum;
}
