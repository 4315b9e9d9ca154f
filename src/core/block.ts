import { VolleyError } from './errors.ts';
import type { LinkedNode } from './graph-node.ts';

/** The dependencies of each node in a submission: the entries of node `i` are `starts[i]` to `starts[i + 1]`. */
export interface Rows<N> {
  readonly starts: Int32Array;
  /** The index of a node in the same submission; for an older node, the complement of its index in `older`. */
  readonly entries: Int32Array;
  readonly older: readonly N[];
}

/** The longest row whose count fits in a signed byte. */
const MAX_IN_BYTE = 126;

/**
 * The edges of nodes that were added together, as rows of numbers: linking, ordering and settling thousands of nodes
 * touches these few arrays instead of an object and two lists per node. A node's index follows from its number.
 * Everything is freed when the last node settles.
 */
export class Block<N extends LinkedNode> implements Rows<N> {
  readonly firstSeq: number;
  readonly starts: Int32Array;
  readonly entries: Int32Array;
  readonly older: readonly N[];
  /** The number of open dependencies of each node; negative once it has settled. */
  readonly waitingFor: Int8Array | Int32Array;
  /** The dependents of each node within the block, as rows like those of the dependencies. */
  readonly dependentStarts: Int32Array;
  readonly dependentPlaces: Int32Array;
  /** The indexes in dependency order; undefined if the nodes are in that order already. */
  order: Int32Array | undefined;

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
    // Counts are summed to the end of each row, which becomes its start while the row is filled backwards.
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
   * The indexes in dependency order; undefined if there is a cycle, and then `open` shows which nodes are stuck. Kahn's
   * algorithm without the older nodes, which never wait for newer ones.
   */
  findOrder(open: Int32Array): Int32Array | undefined {
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

  /** Links the nodes to their older dependencies and to this block. */
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

  /** Marks a node as settled and calls back for each node of the block that waited for it alone. */
  settle(settled: number, unblocked?: (dependent: N) => void): void {
    const { nodes, waitingFor, dependentPlaces } = this;
    const to = this.dependentStarts[settled + 1]!;
    waitingFor[settled] = -1;
    for (let at = this.dependentStarts[settled]!; at < to; at++) {
      const place = dependentPlaces[at]!;
      if (--waitingFor[place]! === 0) unblocked?.(nodes[place]!);
    }
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

  /** Whether a node depends on an older one. */
  reachesOut(place: number): boolean {
    if (this.older.length === 0) return false;
    for (let at = this.starts[place]!; at < this.starts[place + 1]!; at++)
      if (this.entries[at]! < 0) return true;
    return false;
  }
}

/** Uses bytes if the counts fit: settling visits these numbers most, and at random. */
function countersFor(starts: Int32Array): Int8Array | Int32Array {
  const size = starts.length - 1;
  for (let place = 0; place < size; place++) {
    if (starts[place + 1]! - starts[place]! > MAX_IN_BYTE) return new Int32Array(size);
  }
  return new Int8Array(size);
}

/** Up to this many entries, a scan for duplicates is cheaper than a set. */
const FEW = 16;

/** Builds {@link Rows} one after the other and drops duplicates within a row. */
export class RowBuilder<N> implements Rows<N> {
  readonly starts: Int32Array;
  readonly entries: Int32Array;
  readonly older: N[] = [];
  /** Whether a node depends on itself or on a later one. */
  refersForward = false;
  private readonly olderEntries = new Map<N, number>();
  private row = 0;
  private rowStart = 0;
  private end = 0;
  /** The entries of a long row. */
  private seen: Set<number> | undefined;

  constructor(rows: number, maxEntries: number) {
    this.starts = new Int32Array(rows + 1);
    this.entries = new Int32Array(maxEntries);
  }

  add(place: number): void {
    if (place >= this.row) this.refersForward = true;
    this.enter(place);
  }

  addOlder(node: N): void {
    let entry = this.olderEntries.get(node);
    if (entry === undefined) {
      entry = ~this.older.length;
      this.older.push(node);
      this.olderEntries.set(node, entry);
    }
    this.enter(entry);
  }

  endRow(): void {
    this.starts[++this.row] = this.rowStart = this.end;
    this.seen = undefined;
  }

  private enter(entry: number): void {
    if (!this.isRepeated(entry)) this.entries[this.end++] = entry;
  }

  private isRepeated(entry: number): boolean {
    const { entries, rowStart, end } = this;
    if (end - rowStart < FEW) {
      for (let at = rowStart; at < end; at++) if (entries[at] === entry) return true;
      return false;
    }
    this.seen ??= new Set(entries.subarray(rowStart, end));
    if (this.seen.has(entry)) return true;
    this.seen.add(entry);
    return false;
  }
}

/** The indexes of a block in dependency order. */
export function blockOrder(block: Block<LinkedNode>): Int32Array {
  const open = new Int32Array(block.nodes.length);
  const order = block.findOrder(open);
  if (order === undefined) throw cycleError(cycleIn(block, open));
  return order;
}

/** Every remaining node waits for another remaining one, so following them finds a cycle. */
function cycleIn({ nodes, starts, entries }: Block<LinkedNode>, open: Int32Array): LinkedNode[] {
  const isStuck = (place: number) => place >= 0 && open[place]! > 0;
  const walked: number[] = [];
  const stepOf = new Map<number, number>();
  let at = open.findIndex((left) => left > 0);
  while (!stepOf.has(at)) {
    stepOf.set(at, walked.length);
    walked.push(at);
    at = entries.subarray(starts[at]!, starts[at + 1]!).find(isStuck)!;
  }
  return [...walked.slice(stepOf.get(at)), at].map((place) => nodes[place]!);
}

export function cycleError(nodes: readonly { readonly id: string }[]): VolleyError {
  const path = nodes.map((node) => node.id);
  return new VolleyError(
    'DEPENDENCY_CYCLE',
    `The dependencies form a cycle: ${shorten(path).join(' → ')} (each waits for the next). Remove one of them.`,
    { path },
  );
}

function shorten(path: readonly string[]): readonly string[] {
  return path.length <= 12 ? path : [...path.slice(0, 6), `… ${path.length - 11} more …`, ...path.slice(-5)];
}
