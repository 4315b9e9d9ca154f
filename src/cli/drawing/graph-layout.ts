// Our own layered layout, also for the dashboard: dagre takes 40 s for 1,000 nodes. Pure, without imports from Node.

/** Dependencies by index in a list. */
export interface DependencyLinks {
  /** For each item its dependencies, without duplicates and itself. */
  readonly before: readonly (readonly number[])[];
  /** For each item its dependents. */
  readonly after: readonly (readonly number[])[];
}

/** Resolves ids to indexes. Unknown ids are ignored. */
export function linkDependencies(
  items: readonly { readonly id: string; readonly dependsOn: readonly string[] }[],
): DependencyLinks {
  const indexOf = new Map(items.map(({ id }, index) => [id, index]));
  const after: number[][] = items.map(() => []);
  const before = items.map(({ dependsOn }, index) => {
    const found = new Set<number>();
    for (const id of dependsOn) {
      const other = indexOf.get(id);
      if (other !== undefined && other !== index) found.add(other);
    }
    for (const other of found) after[other]!.push(index);
    return [...found];
  });
  return { before, after };
}

/** An order in which dependencies come first. Members of a cycle come last. */
export function sortByDependencies({ before, after }: DependencyLinks): number[] {
  const waiting = before.map(({ length }) => length);
  const order = waiting.flatMap((count, index) => (count === 0 ? [index] : []));
  for (let next = 0; next < order.length; next++) {
    for (const index of after[order[next]!]!) if (--waiting[index]! === 0) order.push(index);
  }
  return order.length === before.length
    ? order
    : [...order, ...waiting.flatMap((count, index) => (count > 0 ? [index] : []))];
}

/** The length of the longest chain before each item: 0 without dependencies. */
export function dependencyDepths(links: DependencyLinks): number[] {
  const depths: number[] = new Array(links.before.length).fill(0);
  for (const index of sortByDependencies(links)) {
    for (const earlier of links.before[index]!) {
      depths[index] = Math.max(depths[index]!, depths[earlier]! + 1);
    }
  }
  return depths;
}

/** A node: its column, and the height of its middle. */
export interface NodePlace {
  readonly node: number;
  readonly column: number;
  readonly y: number;
}

/** A line to a later node. It passes each column between at the given height. */
export interface EdgePlace {
  readonly from: number;
  readonly to: number;
  readonly passes: readonly { readonly column: number; readonly y: number }[];
}

export interface GraphLayout {
  readonly nodes: readonly NodePlace[];
  readonly edges: readonly EdgePlace[];
  readonly columnCount: number;
  readonly height: number;
}

/** With more passes, lines go straight. */
const MAX_PASSES = 6000;
const MAX_ORDER_SWEEPS = 12;
const HEIGHT_SWEEPS = 16;

/** Places linked nodes: columns by depth, few crossings, linked nodes at similar heights. */
export function layOutLinks(
  links: DependencyLinks,
  nodes: readonly number[],
  sizes: { node: number; pass: number },
): GraphLayout {
  const nodeCount = links.before.length;
  const depths = dependencyDepths(links);
  const all = nodes.flatMap((to) => links.before[to]!.map((from) => ({ from, to })));
  // Lines inside a cycle, which no batch has, lead nowhere.
  const forward = all.filter(({ from, to }) => depths[from]! < depths[to]!);
  const passes = forward.reduce((sum, { from, to }) => sum + depths[to]! - depths[from]! - 1, 0);
  const net = new Net(nodeCount, nodes, depths);
  const passesOf = forward.map(({ from, to }) => net.join(from, to, passes <= MAX_PASSES));
  const columns = reduceCrossings(net);
  const sizeOf = (item: number) => (item < nodeCount ? sizes.node : sizes.pass);
  const heights = placeHeights({ ...net, columns }, sizeOf);
  const items = columns.flat();
  const top = items.reduce(
    (min, item) => Math.min(min, heights[item]! - sizeOf(item) / 2),
    Number.POSITIVE_INFINITY,
  );
  const bottom = items.reduce((max, item) => Math.max(max, heights[item]!), 0) + sizes.node / 2;
  return {
    nodes: nodes.map((node) => ({ node, column: depths[node]!, y: heights[node]! - top })),
    edges: forward.map((link, index) => ({
      ...link,
      passes: passesOf[index]!.map((item) => ({ column: net.columnOf(item), y: heights[item]! - top })),
    })),
    columnCount: columns.length,
    height: bottom - top,
  };
}

/** Items in columns, with links between neighboring columns. A dummy stands where a line passes a column. */
interface Columns {
  /** The items of each column, from top to bottom. */
  readonly columns: readonly number[][];
  /** For each item its links to the column before, and to the one after. */
  readonly left: readonly (readonly number[])[];
  readonly right: readonly (readonly number[])[];
}

class Net implements Columns {
  readonly columns: number[][];
  readonly left: number[][];
  readonly right: number[][];
  private readonly columnOfDummy: number[] = [];

  constructor(
    private readonly nodeCount: number,
    nodes: readonly number[],
    private readonly depths: readonly number[],
  ) {
    const count = nodes.reduce((max, node) => Math.max(max, depths[node]! + 1), 0);
    this.columns = Array.from({ length: count }, () => []);
    this.left = Array.from({ length: nodeCount }, () => []);
    this.right = Array.from({ length: nodeCount }, () => []);
    for (const node of nodes) this.columns[depths[node]!]!.push(node);
  }

  columnOf(item: number): number {
    return item < this.nodeCount ? this.depths[item]! : this.columnOfDummy[item - this.nodeCount]!;
  }

  /** Adds a line with a dummy in each column that it passes, and returns these. */
  join(from: number, to: number, hasDummies: boolean): number[] {
    const dummies: number[] = [];
    let last = from;
    const end = this.columnOf(to);
    for (let column = this.columnOf(from) + 1; hasDummies && column < end; column++) {
      const dummy = this.left.length;
      this.columnOfDummy.push(column);
      this.left.push([]);
      this.right.push([]);
      this.columns[column]!.push(dummy);
      this.link(last, dummy);
      dummies.push(dummy);
      last = dummy;
    }
    if (hasDummies || this.columnOf(last) + 1 === end) this.link(last, to);
    return dummies;
  }

  private link(from: number, to: number): void {
    this.right[from]!.push(to);
    this.left[to]!.push(from);
  }
}

/**
 * Sorts each column so that few lines cross: in sweeps to the right and back, each item moves to the mean position of
 * its links. The best order is kept.
 */
function reduceCrossings({ columns, left, right }: Columns): number[][] {
  const places: number[] = new Array(left.length).fill(0);
  let order = columns.map((column) => [...column]);
  const note = (column: readonly number[]) => {
    for (const [place, item] of column.entries()) places[item] = place;
  };
  order.forEach(note);
  let best = order;
  let fewest = countCrossings(order, right, places);
  for (let sweep = 0; sweep < MAX_ORDER_SWEEPS && fewest > 0; sweep++) {
    order = order.map((column) => [...column]);
    const isForward = sweep % 2 === 0;
    const linked = isForward ? left : right;
    for (let step = 1; step < order.length; step++) {
      const column = order[isForward ? step : order.length - 1 - step]!;
      // An item without links stays where it is.
      const means = new Map(column.map((item) => [item, mean(linked[item]!, places) ?? places[item]!]));
      column.sort((a, b) => means.get(a)! - means.get(b)! || places[a]! - places[b]!);
      note(column);
    }
    const count = countCrossings(order, right, places);
    if (count < fewest) {
      best = order;
      fewest = count;
    }
  }
  return best;
}

function mean(items: readonly number[], values: readonly number[]): number | undefined {
  return items.length === 0 ? undefined : items.reduce((sum, item) => sum + values[item]!, 0) / items.length;
}

/** Counts crossing pairs of lines, with a binary indexed tree for each pair of columns. */
function countCrossings(
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
      for (const end of ends) {
        let upTo = 0;
        for (let at = end + 1; at > 0; at -= at & -at) upTo += tree[at]!;
        count += lines - upTo;
      }
      for (const end of ends) for (let at = end + 1; at <= size; at += at & -at) tree[at]!++;
      lines += ends.length;
    }
  }
  return count;
}

/** Moves each item to the mean height of its links. Items of a column keep their order and distance. */
function placeHeights({ columns, left, right }: Columns, sizeOf: (item: number) => number): number[] {
  const heights: number[] = new Array(left.length).fill(0);
  for (const column of columns) {
    let top = 0;
    for (const item of column) {
      heights[item] = top + sizeOf(item) / 2;
      top += sizeOf(item);
    }
  }
  for (let sweep = 0; sweep < HEIGHT_SWEEPS; sweep++) {
    const isForward = sweep % 2 === 0;
    for (let step = 0; step < columns.length; step++) {
      const column = columns[isForward ? step : columns.length - 1 - step]!;
      const wanted = column.map((item) => {
        // The last sweeps look to both sides, which balances the picture.
        const side = isForward ? left[item]! : right[item]!;
        const others =
          sweep < HEIGHT_SWEEPS - 4 && side.length > 0 ? side : [...left[item]!, ...right[item]!];
        return mean(others, heights) ?? heights[item]!;
      });
      settle(column, wanted, sizeOf, heights);
    }
  }
  return heights;
}

/**
 * Sets the heights nearest to the wanted ones (least squares) that keep order and distance: items that would come too
 * close form a block, which stands at the mean of what they want.
 */
function settle(
  column: readonly number[],
  wanted: readonly number[],
  sizeOf: (item: number) => number,
  heights: number[],
): void {
  const blocks: { sum: number; count: number }[] = [];
  const offsets: number[] = [];
  let offset = 0;
  for (const [index, item] of column.entries()) {
    if (index > 0) offset += (sizeOf(column[index - 1]!) + sizeOf(item)) / 2;
    offsets.push(offset);
    let block = { sum: wanted[index]! - offset, count: 1 };
    for (
      let last = blocks.at(-1);
      last && last.sum / last.count > block.sum / block.count;
      last = blocks.at(-1)
    ) {
      block = { sum: last.sum + block.sum, count: last.count + block.count };
      blocks.pop();
    }
    blocks.push(block);
  }
  let index = 0;
  for (const { sum, count } of blocks) {
    for (let end = index + count; index < end; index++)
      heights[column[index]!] = sum / count + offsets[index]!;
  }
}
