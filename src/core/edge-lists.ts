const FIRST_SIZE = 1024;

/**
 * The dependents of nodes that are numbered from 0, for millions of them: linked lists in typed arrays, 8 bytes for an
 * edge and 4 for a node. Nodes and edges are only added.
 */
export class EdgeLists {
  /** The first edge of each node, from 1; 0 if there is none. */
  private heads = new Int32Array(FIRST_SIZE);
  private next = new Int32Array(FIRST_SIZE);
  private targets = new Int32Array(FIRST_SIZE);
  private edges = 0;
  nodes = 0;

  addNode(): number {
    this.heads = withRoomFor(this.heads, this.nodes + 1);
    return this.nodes++;
  }

  /** The dependents of a node are read in the reverse order. */
  addEdge(dependency: number, dependent: number): void {
    const edge = ++this.edges;
    this.next = withRoomFor(this.next, edge + 1);
    this.targets = withRoomFor(this.targets, edge + 1);
    this.next[edge] = this.heads[dependency]!;
    this.targets[edge] = dependent;
    this.heads[dependency] = edge;
  }

  get edgeCount(): number {
    return this.edges;
  }

  /** Calls back for each dependent of a node. */
  forDependents(node: number, visit: (dependent: number) => void): void {
    for (let edge = this.heads[node]!; edge !== 0; edge = this.next[edge]!) visit(this.targets[edge]!);
  }

  /**
   * The nodes from a number on in dependency order. Nodes of a cycle, and those behind one, are missing. Edges from
   * earlier nodes do not count.
   */
  order(from = 0): Int32Array {
    const { heads, next, targets, nodes } = this;
    const open = new Int32Array(nodes - from);
    for (let node = from; node < nodes; node++)
      for (let edge = heads[node]!; edge !== 0; edge = next[edge]!) open[targets[edge]! - from]!++;
    const order = new Int32Array(nodes - from);
    let found = 0;
    for (let node = from; node < nodes; node++) if (open[node - from] === 0) order[found++] = node;
    for (let at = 0; at < found; at++) {
      for (let edge = heads[order[at]!]!; edge !== 0; edge = next[edge]!)
        if (--open[targets[edge]! - from]! === 0) order[found++] = targets[edge]!;
    }
    return order.subarray(0, found);
  }

  /** A cycle, each node of which depends on the next, and the last on the first; undefined if there is none. */
  cycle(): number[] | undefined {
    const { heads, next, targets, nodes } = this;
    const order = this.order();
    if (order.length === nodes) return undefined;
    const isOrdered = new Uint8Array(nodes);
    for (const node of order) isOrdered[node] = 1;
    // One dependency of each that is left, which is left itself. Following them ends in a cycle.
    const waitsFor = new Int32Array(nodes).fill(-1);
    for (let node = 0; node < nodes; node++) {
      if (isOrdered[node] === 1) continue;
      for (let edge = heads[node]!; edge !== 0; edge = next[edge]!) waitsFor[targets[edge]!] = node;
    }
    const steps = new Map<number, number>();
    let at = isOrdered.indexOf(0);
    for (; !steps.has(at); at = waitsFor[at]!) steps.set(at, steps.size);
    return [...steps.keys()].slice(steps.get(at));
  }
}

/** The array, or a larger copy of it. */
export function withRoomFor<T extends Int32Array | Uint8Array>(array: T, size: number): T {
  if (size <= array.length) return array;
  const larger = new (array.constructor as new (size: number) => T)(Math.max(size, 2 * array.length));
  larger.set(array);
  return larger;
}
