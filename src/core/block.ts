import type { LinkedNode } from './graph-node.ts';

/** What each node of a submission depends on: the entries of node `i` stand from `starts[i]` to `starts[i + 1]`. */
export interface Rows<N> {
  readonly starts: Int32Array;
  /** The place of a node of the same submission; of an older one the complement of its place in `older`. */
  readonly entries: Int32Array;
  readonly older: readonly N[];
}

/** The longest row that can be counted down in a byte, and as far again below zero. */
const LONGEST_IN_BYTE = 126;

/**
 * The edges of nodes that were added together, as numbers in rows: linking, ordering and settling thousands of nodes
 * touch these few arrays, and not an object and two lists for each. A node stands at the place of its number. All of it
 * goes with the last node that has not settled.
 */
export class Block<N extends LinkedNode> implements Rows<N> {
  readonly firstSeq: number;
  readonly starts: Int32Array;
  readonly entries: Int32Array;
  readonly older: readonly N[];
  /** Of each node the dependencies that have not settled; below zero when it has settled itself. */
  readonly waitingFor: Int8Array | Int32Array;
  private readonly dependentStarts: Int32Array;
  private readonly dependentPlaces: Int32Array;

  constructor(
    readonly nodes: readonly N[],
    { starts, entries, older }: Rows<N>,
  ) {
    const size = nodes.length;
    this.firstSeq = nodes[0]!.seq;
    this.starts = starts;
    this.entries = entries;
    this.older = older;
    this.waitingFor = countersFor(starts);
    // Counted and summed up to the end of each row, which becomes its start while the row is filled from behind.
    const ends = new Int32Array(size + 1);
    const count = starts[size]!;
    for (let at = 0; at < count; at++) if (entries[at]! >= 0) ends[entries[at]!]!++;
    for (let place = 1; place <= size; place++) ends[place]! += ends[place - 1]!;
    this.dependentPlaces = new Int32Array(ends[size]!);
    this.dependentStarts = ends;
    for (let place = size - 1; place >= 0; place--) {
      const from = starts[place]!;
      const to = starts[place + 1]!;
      this.waitingFor[place] = to - from;
      for (let at = from; at < to; at++) {
        const entry = entries[at]!;
        if (entry >= 0) this.dependentPlaces[--ends[entry]!] = place;
      }
    }
  }

  /**
   * The places in an order in which each stands behind what it depends on; undefined where a cycle leaves no such
   * order, and then `open` tells who is stuck. Kahn's algorithm, without the older nodes: they never wait for newer ones.
   */
  order(open: Int32Array): Int32Array | undefined {
    const { starts, entries, dependentStarts, dependentPlaces } = this;
    const size = open.length;
    for (let place = 0; place < size; place++) {
      for (let at = starts[place]!; at < starts[place + 1]!; at++) if (entries[at]! >= 0) open[place]!++;
    }
    const order = new Int32Array(size);
    let found = 0;
    for (let place = 0; place < size; place++) if (open[place] === 0) order[found++] = place;
    for (let next = 0; next < found; next++) {
      const place = order[next]!;
      for (let at = dependentStarts[place]!; at < dependentStarts[place + 1]!; at++) {
        const dependent = dependentPlaces[at]!;
        if (--open[dependent]! === 0) order[found++] = dependent;
      }
    }
    return found === size ? order : undefined;
  }

  /** Makes the nodes known to those they depend on outside, and themselves to this. */
  link(): void {
    const { nodes, starts, entries, older, waitingFor } = this;
    for (const node of nodes) node.edges = this;
    if (older.length === 0) return;
    for (let place = nodes.length - 1; place >= 0; place--) {
      for (let at = starts[place]!; at < starts[place + 1]!; at++) {
        if (entries[at]! >= 0) continue;
        const dependency = older[~entries[at]!]!;
        if (dependency.isDone) {
          waitingFor[place]!--;
          continue;
        }
        const links = dependency.withLinks();
        if (links.dependents === undefined) links.dependents = [nodes[place]!];
        else links.dependents.push(nodes[place]!);
      }
    }
  }

  /** Marks a node as settled and returns those of the block that waited for it alone. */
  settle(settled: number): N[] | undefined {
    const { waitingFor, dependentPlaces } = this;
    const to = this.dependentStarts[settled + 1]!;
    let ready: N[] | undefined;
    waitingFor[settled] = -1;
    for (let at = this.dependentStarts[settled]!; at < to; at++) {
      const place = dependentPlaces[at]!;
      if (--waitingFor[place]! !== 0) continue;
      if (ready === undefined) ready = [this.nodes[place]!];
      else ready.push(this.nodes[place]!);
    }
    return ready;
  }

  dependenciesOf(place: number): N[] | undefined {
    const { nodes, entries, older } = this;
    const from = this.starts[place]!;
    const to = this.starts[place + 1]!;
    if (from === to) return undefined;
    const found: N[] = [];
    for (let at = from; at < to; at++) {
      const entry = entries[at]!;
      found.push(entry < 0 ? older[~entry]! : nodes[entry]!);
    }
    return found;
  }

  dependentsOf(place: number): N[] | undefined {
    const from = this.dependentStarts[place]!;
    const to = this.dependentStarts[place + 1]!;
    if (from === to) return undefined;
    return Array.from(this.dependentPlaces.subarray(from, to), (dependent) => this.nodes[dependent]!);
  }

  /** Whether a node depends on one that was there before. */
  reachesOut(place: number): boolean {
    if (this.older.length === 0) return false;
    for (let at = this.starts[place]!; at < this.starts[place + 1]!; at++)
      if (this.entries[at]! < 0) return true;
    return false;
  }
}

/** Bytes if they do: these are the numbers that settling visits most, and at random. */
function countersFor(starts: Int32Array): Int8Array | Int32Array {
  const size = starts.length - 1;
  for (let place = 0; place < size; place++) {
    if (starts[place + 1]! - starts[place]! > LONGEST_IN_BYTE) return new Int32Array(size);
  }
  return new Int8Array(size);
}
