import { Block, blockOrder, cycleError, RowBuilder } from './block.ts';
import { Directory } from './directory.ts';
import { VolleyError } from './errors.ts';
import { LinkedNode, Links, seqInId } from './graph-node.ts';
import { show } from './numbers.ts';

const MAX_ID_LENGTH = 256;

/** Returns a node's dependencies: ids or nodes. */
export interface NodeDependencies<N extends LinkedNode = LinkedNode> {
  readonly dependsOn?: readonly (string | N)[];
}

/** The nodes in dependency order. */
export function inOrder<N extends LinkedNode>({ nodes, order }: Block<N>): readonly N[] {
  return order === undefined ? nodes : Array.from(order, (place) => nodes[place]!);
}

/**
 * The dependency graph. Adding a node costs its own edges; settling one touches only its dependents. Nodes added
 * together may refer to each other in any direction; either all of them are added or none.
 */
export class ExecutionGraph<N extends LinkedNode = LinkedNode> {
  /** One instance of each is kept alive, or V8 discards the compiled code whenever none is left. @internal */
  static readonly kept = [new RowBuilder(1, 0), new Block([new LinkedNode()], new RowBuilder(1, 0))];
  private readonly directory = new Directory<N>();

  /** Returns the node with the id (its own name or `exec-<number>`), unless it was forgotten. */
  find(id: string): N | undefined {
    if (typeof id !== 'string') return undefined;
    const seq = seqInId(id);
    return seq === undefined ? this.directory.byName(id) : this.directory.bySeq(seq);
  }

  /** Adds one node. Throws the same errors as `add`. */
  addSingle(node: N, dependsOn?: readonly (string | N)[]): void {
    const { name } = node;
    if (name !== undefined) {
      checkName(name);
      if (this.directory.byName(name) !== undefined) throw duplicate(name);
    }
    this.directory.add(node);
    if (dependsOn === undefined || dependsOn.length === 0) return;
    try {
      this.linkSingle(node, dependsOn);
    } catch (error) {
      this.directory.undo(node);
      throw error;
    }
  }

  /**
   * Adds nodes with consecutive numbers and their edges, and returns them in dependency order. Throws for a duplicate
   * id, an unknown dependency or a cycle; nothing is added then.
   */
  add(nodes: readonly N[], dependents: readonly NodeDependencies<N>[]): readonly N[] {
    const block = this.addAll(nodes, dependents);
    return block === undefined ? nodes : inOrder(block);
  }

  /**
   * Like `add`, but returns the edges; undefined if there are none.
   * @internal
   */
  addAll(nodes: readonly N[], dependents: readonly NodeDependencies<N>[]): Block<N> | undefined {
    let added = 0;
    try {
      let edges = 0;
      for (; added < nodes.length; added++) {
        const node = nodes[added]!;
        const { name } = node;
        if (node.seq !== nodes[0]!.seq + added) throw notConsecutive(node);
        if (name !== undefined) checkName(name);
        if (!this.directory.add(node)) throw duplicate(name!);
        const { dependsOn } = dependents[added]!;
        if (dependsOn !== undefined) edges += dependsOn.length;
      }
      return edges === 0 ? undefined : this.link(nodes, dependents, edges);
    } catch (error) {
      for (const node of nodes.slice(0, added)) this.directory.undo(node);
      throw error;
    }
  }

  /** Marks a node as settled and calls back for each dependent that is now unblocked. */
  settle(node: N, unblocked?: (dependent: N) => void): void {
    const isAlone = node.edges === undefined;
    const { block, links } = node;
    // A cancelled node's dependencies may run for a long time and must not keep it in memory.
    const awaited = isAlone || node.waitingFor <= 0 ? undefined : node.dependencies;
    node.dropEdges();
    if (isAlone) return;
    if (awaited !== undefined) for (const dependency of awaited) dependency.links?.dependentSettled();
    if (block !== undefined) (block as Block<N>).settle(node.seq - block.firstSeq, unblocked);
    if (links === undefined) return;
    for (const dependent of (links.dependents ?? []) as N[])
      if (!dependent.isDone && waitsForOneLess(dependent) <= 0) unblocked?.(dependent);
  }

  /** Removes a settled node from the graph; its id can be used again. */
  forget(seq: number): void {
    this.directory.remove(seq);
  }

  /** The nodes without open dependencies. Scans all nodes. */
  ready(): N[] {
    return [...this.directory].filter((node) => node.waitingFor === 0);
  }

  /** All nodes that were not forgotten, ordered by number. */
  [Symbol.iterator](): Iterator<N> {
    return this.directory[Symbol.iterator]();
  }

  private link(nodes: readonly N[], dependents: readonly NodeDependencies<N>[], edges: number): Block<N> {
    const rows = new RowBuilder<N>(nodes.length, edges);
    const firstSeq = nodes[0]!.seq;
    for (let index = 0; index < nodes.length; index++) {
      const { dependsOn } = dependents[index]!;
      if (dependsOn !== undefined) {
        for (const reference of dependsOn) {
          const seq = typeof reference === 'string' ? this.directory.seqOf(reference) : undefined;
          const place = seq === undefined ? -1 : seq - firstSeq;
          if (place >= 0 && place < nodes.length) rows.add(place);
          else this.enter(reference, rows, nodes, index);
        }
      }
      rows.endRow();
    }
    // A copy, because the caller may sort or truncate its list.
    const block = new Block(nodes.slice(), rows);
    if (rows.refersForward) block.order = blockOrder(block);
    block.link();
    return block;
  }

  /** Resolves a dependency that no node of the group declares. */
  private enter(reference: string | N, rows: RowBuilder<N>, nodes: readonly N[], index: number): void {
    const found = typeof reference === 'string' ? this.known(reference, nodes[index]!) : reference;
    const place = found.seq - nodes[0]!.seq;
    if (nodes[place] === found) rows.add(place);
    else rows.addOlder(found);
  }

  private linkSingle(node: N, dependsOn: readonly (string | N)[]): void {
    const found = new Set<N>();
    for (const reference of dependsOn) {
      found.add(typeof reference === 'string' ? this.known(reference, node) : reference);
    }
    if (found.has(node)) throw cycleError([node, node]);
    const links = new Links<LinkedNode>([...found]);
    for (const dependency of found) {
      if (dependency.isDone) continue;
      links.waitingFor++;
      const other = dependency.withLinks();
      if (other.dependents === undefined) other.dependents = [node];
      else other.dependents.push(node);
    }
    node.edges = links;
  }

  private known(reference: string, node: N): N {
    const found = this.find(reference);
    if (found === undefined) throw unknownDependency(node, reference);
    return found;
  }
}

function waitsForOneLess({ block, links, seq }: LinkedNode): number {
  return block === undefined ? --links!.waitingFor : --block.waitingFor[seq - block.firstSeq]!;
}

function checkName(name: string): void {
  if (typeof name === 'string' && name !== '' && name.length <= MAX_ID_LENGTH && seqInId(name) === undefined)
    return;
  throw new VolleyError(
    'INVALID_ID',
    `The id ${show(name)} cannot be used: it must be a string of 1 to ${MAX_ID_LENGTH} characters that is not of the form "exec-<number>".`,
    { id: name },
  );
}

function duplicate(id: string): VolleyError {
  return new VolleyError(
    'DUPLICATE_ID',
    `The id ${JSON.stringify(id)} is already in use: give each execution its own.`,
    { id },
  );
}

function notConsecutive(node: LinkedNode): VolleyError {
  return new VolleyError(
    'INVALID_VALUE',
    `Nodes that are added together need consecutive numbers, but ${JSON.stringify(node.id)} has ${node.seq}: number them one after the other.`,
    { id: node.id },
  );
}

function unknownDependency(node: LinkedNode, dependency: string): VolleyError {
  const own = node.name === undefined ? 'An execution' : `The execution ${JSON.stringify(node.name)}`;
  return new VolleyError(
    'UNKNOWN_DEPENDENCY',
    `${own} depends on ${JSON.stringify(dependency)}, which is unknown: submit it first or in the same group, or depend on its handle.`,
    { id: node.name, dependency },
  );
}
