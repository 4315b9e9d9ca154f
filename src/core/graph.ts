import { Directory } from './directory.ts';
import { VolleyError } from './errors.ts';
import { type Edges, topologicalOrder } from './topology.ts';

const OWN_ID = 'exec-';
const LONGEST_ID = 256;
/** Up to so many dependencies a scan for repetitions is cheaper than a set. */
const FEW = 16;

/** A node of a {@link DependencyGraph}. */
export class GraphNode {
  /** Dependencies that have not settled; -1 when the node itself has. */
  waitingFor = 0;
  /** What it depends on, and what depends on it; both are dropped when the node settles. */
  dependencies: readonly this[] | undefined = undefined;
  dependents: this[] | undefined = undefined;

  constructor(
    public seq = 0,
    /** The caller's own id; without one the node is known by its number. */
    public name: string | undefined = undefined,
  ) {}

  get isDone(): boolean {
    return this.waitingFor < 0;
  }

  /** Made when somebody asks: most nodes are never looked up. */
  get id(): string {
    return this.name ?? OWN_ID + this.seq;
  }
}

/** Says what a node depends on: ids or nodes. */
export interface Dependent<N extends GraphNode = GraphNode> {
  readonly dependsOn?: readonly (string | N)[];
}

/**
 * What waits for what. Adding a node costs its own edges, settling one touches its dependents only. Nodes that are
 * added together may refer to each other in any direction; either all of them are added or none.
 */
export class DependencyGraph<N extends GraphNode = GraphNode> {
  private readonly directory = new Directory<N>();

  /** The node with the id, its own name or `exec-<number>`, unless it was forgotten. */
  find(id: string): N | undefined {
    if (isOwnId(id)) return this.directory.bySeq(Number(id.slice(OWN_ID.length)));
    return this.directory.byName(id);
  }

  /** Adds a node that depends on nothing. */
  addSingle(node: N): void {
    if (node.name !== undefined) this.checkName(node.name);
    this.directory.add(node);
  }

  /**
   * Adds nodes with consecutive numbers and their edges, and returns them so that each stands behind what it depends
   * on. Throws for a duplicate id, an unknown dependency or a cycle, and then nothing was added.
   */
  add(nodes: readonly N[], dependents: readonly Dependent<N>[]): readonly N[] {
    let added = 0;
    try {
      for (; added < nodes.length; added++) this.addSingle(nodes[added]!);
      const edges: Edges<N> = new Array(nodes.length);
      let order = nodes;
      if (this.resolveAll(nodes, dependents, edges)) order = topologicalOrder(nodes, edges);
      linkAll(nodes, edges);
      return order;
    } catch (error) {
      for (const node of nodes.slice(0, added)) this.directory.remove(node);
      throw error;
    }
  }

  /** Marks a node as settled and returns those that depended on it; each now waits for one less. */
  settle(node: N): readonly N[] | undefined {
    const dependents = node.dependents;
    node.waitingFor = -1;
    node.dependents = undefined;
    if (dependents === undefined) return undefined;
    for (const dependent of dependents) dependent.waitingFor--;
    return dependents;
  }

  /** Takes a settled node out of the graph: its id can be used again. */
  forget(node: N): void {
    this.directory.remove(node);
  }

  /** The nodes that wait for nothing: a query over all of them. */
  ready(): N[] {
    return [...this.directory].filter((node) => !node.isDone && node.waitingFor === 0);
  }

  /** All nodes that were not forgotten, in the order of their numbers. */
  [Symbol.iterator](): Iterator<N> {
    return this.directory[Symbol.iterator]();
  }

  /** Finds what each node depends on, and tells whether any refers to a node behind itself. */
  private resolveAll(nodes: readonly N[], dependents: readonly Dependent<N>[], edges: Edges<N>): boolean {
    let refersForward = false;
    for (let index = 0; index < nodes.length; index++) {
      const references = dependents[index]!.dependsOn;
      if (references === undefined || references.length === 0) continue;
      const node = nodes[index]!;
      const dependencies = this.resolve(node, references);
      edges[index] = dependencies;
      for (const dependency of dependencies) if (dependency.seq >= node.seq) refersForward = true;
    }
    return refersForward;
  }

  private checkName(name: string): void {
    if (typeof name !== 'string' || name === '' || name.length > LONGEST_ID || isOwnId(name)) {
      throw new VolleyError(
        'INVALID_ID',
        `The id ${JSON.stringify(name)} cannot be used: it must be a text of 1 to ${LONGEST_ID} characters that is not of the form "exec-<number>".`,
        { id: name },
      );
    }
    if (this.directory.byName(name) !== undefined) throw duplicate(name);
  }

  private resolve(node: N, dependsOn: readonly (string | N)[]): readonly N[] {
    const found = dependsOn.map((reference) => {
      const dependency = typeof reference === 'string' ? this.find(reference) : reference;
      if (dependency === undefined) throw unknownDependency(node, reference as string);
      return dependency;
    });
    return hasRepetition(found) ? [...new Set(found)] : found;
  }
}

function hasRepetition(items: readonly unknown[]): boolean {
  if (items.length > FEW) return true;
  for (let index = 1; index < items.length; index++) if (items.indexOf(items[index]) < index) return true;
  return false;
}

/** Links new nodes with what they depend on. Lists are made in their final size: there is one for most nodes. */
function linkAll<N extends GraphNode>(nodes: readonly N[], edges: Edges<N>): void {
  const firstSeq = nodes.length === 0 ? 0 : nodes[0]!.seq;
  const fanOut = new Int32Array(nodes.length);
  for (const dependencies of edges) {
    if (dependencies === undefined) continue;
    for (const { seq } of dependencies) if (seq >= firstSeq) fanOut[seq - firstSeq]!++;
  }
  for (let index = nodes.length - 1; index >= 0; index--) {
    const dependencies = edges[index];
    if (dependencies === undefined) continue;
    const node = nodes[index]!;
    node.dependencies = dependencies;
    for (const dependency of dependencies) {
      if (dependency.isDone) continue;
      node.waitingFor++;
      if (dependency.seq < firstSeq) {
        if (dependency.dependents === undefined) dependency.dependents = [node];
        else dependency.dependents.push(node);
      } else {
        const at = dependency.seq - firstSeq;
        dependency.dependents ??= new Array(fanOut[at]!);
        dependency.dependents[--fanOut[at]!] = node;
      }
    }
  }
}

/** Whether an id has the form of those that nodes without a name are known by. */
function isOwnId(id: string): boolean {
  return id.startsWith(OWN_ID) && /^[1-9]\d{0,14}$/.test(id.slice(OWN_ID.length));
}

function duplicate(id: string): VolleyError {
  return new VolleyError(
    'DUPLICATE_ID',
    `The id ${JSON.stringify(id)} is already in use: give each execution its own.`,
    { id },
  );
}

function unknownDependency(node: GraphNode, dependency: string): VolleyError {
  const own = node.name === undefined ? 'An execution' : `The execution ${JSON.stringify(node.name)}`;
  return new VolleyError(
    'UNKNOWN_DEPENDENCY',
    `${own} depends on ${JSON.stringify(dependency)}, which is not known: submit it first or in the same group, or depend on its handle.`,
    { id: node.name, dependency },
  );
}
