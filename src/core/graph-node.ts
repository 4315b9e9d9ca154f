import type { Block } from './block.ts';

const OWN_ID = 'exec-';

/** The edges of a node that was added alone, and those of later nodes to any; few nodes have them. */
export class Links<N> {
  /** Of a node that was added alone, the dependencies that have not settled. */
  waitingFor = 0;
  dependents: N[] | undefined = undefined;

  constructor(public dependencies: readonly N[] | undefined = undefined) {}
}

/** A node of a {@link DependencyGraph}. Its edges are dropped when it settles. */
export class GraphNode {
  isDone = false;
  /**
   * The edges among the nodes that were added together, and of these to older ones; undefined where there are none.
   * @internal
   */
  block: Block<GraphNode> | undefined = undefined;
  /**
   * What a node that was added alone depends on, and what was added later and depends on this one.
   * @internal
   */
  links: Links<GraphNode> | undefined = undefined;

  constructor(
    public seq = 0,
    /** The caller's own id; without one the node is known by its number. */
    public name: string | undefined = undefined,
  ) {}

  /** Made when somebody asks: most nodes are never looked up. */
  get id(): string {
    return this.name ?? OWN_ID + this.seq;
  }

  /** Dependencies that have not settled; -1 when the node itself has. */
  get waitingFor(): number {
    if (this.isDone) return -1;
    const { block, links } = this;
    if (block !== undefined) return block.waitingFor[this.seq - block.firstSeq]!;
    return links === undefined ? 0 : links.waitingFor;
  }

  /** What it depends on, in the order in which that was said. Most often made anew for who asks. */
  get dependencies(): readonly this[] | undefined {
    const { block, links } = this;
    const found = block === undefined ? links?.dependencies : block.dependenciesOf(this.seq - block.firstSeq);
    return found as readonly this[] | undefined;
  }

  /** What depends on it: those that were added together with it, then the later ones. Most often made anew. */
  get dependents(): readonly this[] | undefined {
    const { block, links } = this;
    const within = block?.dependentsOf(this.seq - block.firstSeq);
    const later = links?.dependents;
    const found = within === undefined || later === undefined ? (within ?? later) : [...within, ...later];
    return found as readonly this[] | undefined;
  }

  /** @internal */
  withLinks(): Links<GraphNode> {
    this.links ??= new Links();
    return this.links;
  }
}

/** The number in an id of the form that nodes without a name are known by; undefined for any other id. */
export function numberIn(id: string): number | undefined {
  // One character rules out most names, for a fraction of the cost.
  if (id.charCodeAt(0) !== OWN_ID.charCodeAt(0) || !id.startsWith(OWN_ID)) return undefined;
  const digits = id.slice(OWN_ID.length);
  return /^[1-9]\d{0,14}$/.test(digits) ? Number(digits) : undefined;
}
