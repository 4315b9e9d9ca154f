import { Block } from './block.ts';

const OWN_ID = 'exec-';

/** Settled dependents kept in the list before it is compacted. */
const MAX_GONE = 64;

/** The edges of a node added alone, and the edges from later nodes to any node; few nodes have them. */
export class Links<N extends LinkedNode> {
  /** For a node added alone, the number of open dependencies. */
  waitingFor = 0;
  dependents: N[] | undefined = undefined;
  /** For a node added with others. */
  block: Block<LinkedNode> | undefined = undefined;

  /** An upper bound of the settled dependents in the list. */
  private gone = 0;

  constructor(public dependencies: readonly N[] | undefined = undefined) {}

  /** Counts a dependent that settled before this node. They are removed in bulk, once they may be the larger half. */
  dependentSettled(): void {
    if (this.dependents === undefined || ++this.gone < MAX_GONE || 2 * this.gone < this.dependents.length)
      return;
    this.dependents = this.dependents.filter(({ isDone }) => !isDone);
    this.gone = 0;
  }
}

/** Replaces the edges of a settled node. */
const SETTLED = Symbol('settled');

/** A node of a {@link ExecutionGraph}. Its edges are dropped when it settles. */
export class LinkedNode {
  /**
   * One field for everything about its edges, because most nodes have none and there may be millions.
   * @internal
   */
  edges: Block<LinkedNode> | Links<LinkedNode> | typeof SETTLED | undefined = undefined;

  constructor(
    public seq = 0,
    /** The caller's id; without one, the node is known by its number. */
    public name: string | undefined = undefined,
  ) {}

  /** Built on demand: most nodes are never looked up. */
  get id(): string {
    return this.name ?? OWN_ID + this.seq;
  }

  get isDone(): boolean {
    return this.edges === SETTLED;
  }

  /**
   * The edges among nodes added together, and from these to older ones; undefined if there are none.
   * @internal
   */
  get block(): Block<LinkedNode> | undefined {
    const { edges } = this;
    return edges instanceof Block ? edges : edges instanceof Links ? edges.block : undefined;
  }

  /**
   * The dependencies of a node added alone, and the later nodes that depend on this one.
   * @internal
   */
  get links(): Links<LinkedNode> | undefined {
    return this.edges instanceof Links ? this.edges : undefined;
  }

  /** The number of open dependencies; -1 once the node has settled. */
  get waitingFor(): number {
    if (this.edges === undefined) return 0;
    if (this.isDone) return -1;
    const { block, links } = this;
    return block === undefined ? links!.waitingFor : block.waitingFor[this.seq - block.firstSeq]!;
  }

  /** Its dependencies, in the declared order. Usually a new list. */
  get dependencies(): readonly this[] | undefined {
    if (this.edges === undefined) return undefined;
    const { block, links } = this;
    const found = block === undefined ? links?.dependencies : block.dependenciesOf(this.seq - block.firstSeq);
    return found as readonly this[] | undefined;
  }

  /** Its dependents: first those added with it, then later ones. Usually a new list. */
  get dependents(): readonly this[] | undefined {
    if (this.edges === undefined) return undefined;
    const { block, links } = this;
    const within = block?.dependentsOf(this.seq - block.firstSeq);
    const later = links?.dependents;
    const found = within === undefined || later === undefined ? (within ?? later) : [...within, ...later];
    return found as readonly this[] | undefined;
  }

  /** @internal */
  withLinks(): Links<LinkedNode> {
    if (this.edges instanceof Links) return this.edges;
    const links = new Links<LinkedNode>();
    links.block = this.block;
    this.edges = links;
    return links;
  }

  /** @internal */
  dropEdges(): void {
    this.edges = SETTLED;
  }
}

/** Parses the number of an id like `exec-7`; undefined for any other id. */
export function seqInId(id: string): number | undefined {
  // One character rules out most names, at a fraction of the cost.
  if (id.charCodeAt(0) !== OWN_ID.charCodeAt(0) || !id.startsWith(OWN_ID)) return undefined;
  const digits = id.slice(OWN_ID.length);
  return /^[1-9]\d{0,14}$/.test(digits) ? Number(digits) : undefined;
}
