import { Block } from './block.ts';

const OWN_ID = 'exec-';

/** So many dependents that have settled may stay listed, however few are left. */
const MAX_GONE = 64;

/** The edges of a node that was added alone, and those of later nodes to any; few nodes have them. */
export class Links<N extends LinkedNode> {
  /** Of a node that was added alone, the dependencies that have not settled. */
  waitingFor = 0;
  dependents: N[] | undefined = undefined;
  /** Of a node that was added together with others. */
  block: Block<LinkedNode> | undefined = undefined;

  /** How many of the dependents may have settled, at most. */
  private gone = 0;

  constructor(public dependencies: readonly N[] | undefined = undefined) {}

  /** A dependent has settled before this node did. They are taken out in bulk, when they may be the larger half. */
  dependentSettled(): void {
    if (this.dependents === undefined || ++this.gone < MAX_GONE || 2 * this.gone < this.dependents.length)
      return;
    this.dependents = this.dependents.filter(({ isDone }) => !isDone);
    this.gone = 0;
  }
}

/** Stands in the place of the edges of a node that has settled. */
const SETTLED = Symbol('settled');

/** A node of a {@link ExecutionGraph}. Its edges are dropped when it settles. */
export class LinkedNode {
  /**
   * One field for all that is known of its edges, because most nodes have none and there may be millions.
   * @internal
   */
  edges: Block<LinkedNode> | Links<LinkedNode> | typeof SETTLED | undefined = undefined;

  constructor(
    public seq = 0,
    /** The caller's own id; without one the node is known by its number. */
    public name: string | undefined = undefined,
  ) {}

  /** Made when somebody asks: most nodes are never looked up. */
  get id(): string {
    return this.name ?? OWN_ID + this.seq;
  }

  get isDone(): boolean {
    return this.edges === SETTLED;
  }

  /**
   * The edges among the nodes that were added together, and of these to older ones; undefined where there are none.
   * @internal
   */
  get block(): Block<LinkedNode> | undefined {
    const { edges } = this;
    return edges instanceof Block ? edges : edges instanceof Links ? edges.block : undefined;
  }

  /**
   * What a node that was added alone depends on, and what was added later and depends on this one.
   * @internal
   */
  get links(): Links<LinkedNode> | undefined {
    return this.edges instanceof Links ? this.edges : undefined;
  }

  /** Dependencies that have not settled; -1 when the node itself has. */
  get waitingFor(): number {
    if (this.edges === undefined) return 0;
    if (this.isDone) return -1;
    const { block, links } = this;
    return block === undefined ? links!.waitingFor : block.waitingFor[this.seq - block.firstSeq]!;
  }

  /** What it depends on, in the order in which that was said. Most often made anew for who asks. */
  get dependencies(): readonly this[] | undefined {
    if (this.edges === undefined) return undefined;
    const { block, links } = this;
    const found = block === undefined ? links?.dependencies : block.dependenciesOf(this.seq - block.firstSeq);
    return found as readonly this[] | undefined;
  }

  /** What depends on it: those that were added together with it, then the later ones. Most often made anew. */
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

/** The number in an id of the form that nodes without a name are known by; undefined for any other id. */
export function seqInId(id: string): number | undefined {
  // One character rules out most names, for a fraction of the cost.
  if (id.charCodeAt(0) !== OWN_ID.charCodeAt(0) || !id.startsWith(OWN_ID)) return undefined;
  const digits = id.slice(OWN_ID.length);
  return /^[1-9]\d{0,14}$/.test(digits) ? Number(digits) : undefined;
}
