import { placeHeights } from './graph-heights.ts';
import type { TaskGraph } from './graph-nodes.ts';
import { reduceCrossings } from './graph-order.ts';
import { depthsOf } from './layers.ts';

/** Where a node stands: its column, and how far down its middle is. */
export interface NodePlace {
  readonly node: number;
  readonly column: number;
  readonly y: number;
}

/** A line from one node to a later one; it passes each column between them at the given height. */
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

/** More places where lines pass columns are not looked after: then lines go straight. */
const MAX_PASSES = 6000;

/** Places nodes that are joined with others: columns by depth, few crossings, neighbours at like heights. */
export function layOut(
  graph: TaskGraph,
  nodes: readonly number[],
  sizes: { node: number; pass: number },
): GraphLayout {
  const depths = depthsOf(graph);
  const links = nodes.flatMap((to) => graph.before[to]!.map((from) => ({ from, to })));
  // What is in a circle, which no batch can have, has no line that leads forward.
  const forward = links.filter(({ from, to }) => depths[from]! < depths[to]!);
  const passes = forward.reduce((sum, { from, to }) => sum + depths[to]! - depths[from]! - 1, 0);
  const net = new Net(graph.nodes.length, nodes, depths);
  const passesOf = forward.map(({ from, to }) => net.join(from, to, passes <= MAX_PASSES));
  const columns = reduceCrossings(net);
  const isNode = (item: number) => item < graph.nodes.length;
  const heights = placeHeights({ ...net, columns }, (item) => (isNode(item) ? sizes.node : sizes.pass));
  const tops = columns.flat().map((item) => heights[item]! - (isNode(item) ? sizes.node : sizes.pass) / 2);
  const top = tops.reduce((least, y) => Math.min(least, y), Number.POSITIVE_INFINITY);
  const bottom = columns.flat().reduce((most, item) => Math.max(most, heights[item]!), 0) + sizes.node / 2;
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

/** Nodes and dummies in their columns, while lines are put in. */
class Net {
  readonly columns: number[][];
  readonly left: number[][];
  readonly right: number[][];
  private readonly columnOfDummy: number[] = [];

  constructor(
    private readonly nodeCount: number,
    nodes: readonly number[],
    private readonly depths: readonly number[],
  ) {
    const count = nodes.reduce((most, node) => Math.max(most, depths[node]! + 1), 0);
    this.columns = Array.from({ length: count }, () => []);
    this.left = Array.from({ length: nodeCount }, () => []);
    this.right = Array.from({ length: nodeCount }, () => []);
    for (const node of nodes) this.columns[depths[node]!]!.push(node);
  }

  columnOf(item: number): number {
    return item < this.nodeCount ? this.depths[item]! : this.columnOfDummy[item - this.nodeCount]!;
  }

  /** Puts a line in, with a dummy in each column that it passes; answers these. */
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
