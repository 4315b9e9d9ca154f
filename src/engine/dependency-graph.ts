import { cycleError } from '../core/block.ts';
import { VolleyError } from '../core/errors.ts';
import { topologicalOrder } from '../core/topological-order.ts';

/** The status of a node in a {@link DependencyGraph}. */
export type NodeStatus = 'pending' | 'running' | 'completed' | 'failed' | 'cancelled';

/** A node as passed to {@link DependencyGraph.add}. */
export interface Dependent {
  readonly id: string;
  readonly dependsOn?: Iterable<string>;
}

/** A node of a {@link DependencyGraph}, with its status and times in milliseconds. */
export class GraphNode {
  status: NodeStatus = 'pending';
  startedAt: number | undefined;
  /** When it completed, failed or was cancelled. */
  settledAt: number | undefined;

  constructor(
    readonly id: string,
    readonly dependsOn: ReadonlySet<string>,
    readonly submittedAt: number,
  ) {}

  get isSettled(): boolean {
    return this.settledAt !== undefined;
  }
}

/**
 * A dependency graph for callers who run the work themselves. Nodes may be added in any order, even before their
 * dependencies, so cycles are possible: {@link DependencyGraph.detectCycles} finds them. The engine has its own graph,
 * which rejects cycles on submission.
 */
export class DependencyGraph {
  private readonly nodes = new Map<string, GraphNode>();
  /** The dependents of each id, known or not. */
  private readonly dependents = new Map<string, GraphNode[]>();

  /** `now` provides the nodes' times. */
  constructor(private readonly now: () => number = Date.now) {}

  /** Adds a node. Its dependencies may be added later; until then, the node is not ready. */
  addNode(id: string, dependsOn: Iterable<string> = []): GraphNode {
    if (typeof id !== 'string' || id === '')
      throw new VolleyError('INVALID_ID', 'The id of a node must be a non-empty string.', { id });
    if (this.nodes.has(id))
      throw new VolleyError('DUPLICATE_ID', `The graph already has a node ${JSON.stringify(id)}.`, { id });
    const node = new GraphNode(id, new Set(dependsOn), this.now());
    this.nodes.set(id, node);
    for (const dependency of node.dependsOn) {
      const dependents = this.dependents.get(dependency);
      if (dependents === undefined) this.dependents.set(dependency, [node]);
      else dependents.push(node);
    }
    return node;
  }

  /** Adds many nodes. */
  add(nodes: Iterable<Dependent>): GraphNode[] {
    return Array.from(nodes, ({ id, dependsOn }) => this.addNode(id, dependsOn));
  }

  /** Returns the node with this id, if there is one. */
  find(id: string): GraphNode | undefined {
    return this.nodes.get(id);
  }

  get size(): number {
    return this.nodes.size;
  }

  /** All nodes, in the order in which they were added. */
  [Symbol.iterator](): Iterator<GraphNode> {
    return this.nodes.values();
  }

  /** Whether all dependencies of the node have completed; false for an unknown node. */
  dependenciesSatisfied(id: string): boolean {
    const node = this.nodes.get(id);
    if (node === undefined) return false;
    for (const dependency of node.dependsOn)
      if (this.nodes.get(dependency)?.status !== 'completed') return false;
    return true;
  }

  /** The pending nodes whose dependencies have completed, in the order in which they were added. */
  ready(): GraphNode[] {
    return [...this.nodes.values()].filter((node) => this.isReady(node));
  }

  /** Marks a ready node as running. */
  markRunning(id: string): void {
    const node = this.open(id);
    node.status = 'running';
    node.startedAt = this.now();
  }

  /** Marks a node as completed and returns the nodes that became ready. */
  markCompleted(id: string): GraphNode[] {
    this.settle(id, 'completed');
    return (this.dependents.get(id) ?? []).filter((node) => this.isReady(node));
  }

  /** Marks a node as failed. What depends on it never becomes ready. */
  markFailed(id: string): void {
    this.settle(id, 'failed');
  }

  /** Marks a node as cancelled. What depends on it never becomes ready. */
  markCancelled(id: string): void {
    this.settle(id, 'cancelled');
  }

  /** The ids of one cycle, each of which waits for the next and the last for the first; undefined if there is none. */
  detectCycles(): string[] | undefined {
    return this.sorted().cycle?.map(({ id }) => id);
  }

  /** All nodes in dependency order. Throws DEPENDENCY_CYCLE if there is none. */
  order(): GraphNode[] {
    const { order, cycle } = this.sorted();
    if (cycle !== undefined) throw cycleError([...cycle, cycle[0]!]);
    return order;
  }

  private sorted() {
    return topologicalOrder([...this.nodes.values()], ({ dependsOn }) =>
      [...dependsOn].flatMap((id) => this.nodes.get(id) ?? []),
    );
  }

  private isReady({ id, status }: GraphNode): boolean {
    return status === 'pending' && this.dependenciesSatisfied(id);
  }

  private settle(id: string, status: NodeStatus): void {
    const node = this.open(id);
    node.status = status;
    node.settledAt = this.now();
  }

  private open(id: string): GraphNode {
    const node = this.nodes.get(id);
    if (node === undefined)
      throw new VolleyError('UNKNOWN_DEPENDENCY', `The graph has no node ${JSON.stringify(id)}.`, { id });
    if (node.isSettled)
      throw new VolleyError('INVALID_VALUE', `The node ${JSON.stringify(id)} is already ${node.status}.`, {
        id,
      });
    return node;
  }
}
