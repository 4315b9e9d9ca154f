import { VolleyError } from './errors.ts';
import type { GraphNode } from './graph.ts';

/** What each new node depends on, by its place; nothing stands where it depends on nothing. */
export type Edges<N extends GraphNode> = (readonly N[] | undefined)[];

/** Kahn's algorithm over the new nodes alone: an older node can never wait for a newer one. */
export function topologicalOrder<N extends GraphNode>(nodes: readonly N[], edges: Edges<N>): N[] {
  const firstSeq = nodes[0]!.seq;
  const open = new Int32Array(nodes.length);
  const dependents: number[][] = nodes.map(() => []);
  for (let index = 0; index < nodes.length; index++) {
    for (const dependency of edges[index] ?? []) {
      const at = dependency.seq - firstSeq;
      if (nodes[at] !== dependency) continue;
      dependents[at]!.push(index);
      open[index]!++;
    }
  }
  const order: number[] = [];
  for (let index = 0; index < nodes.length; index++) if (open[index] === 0) order.push(index);
  for (let next = 0; next < order.length; next++) {
    for (const dependent of dependents[order[next]!]!) if (--open[dependent]! === 0) order.push(dependent);
  }
  if (order.length < nodes.length) throw cycleError(nodes, edges, open);
  return order.map((index) => nodes[index]!);
}

/** Every node that is left waits for another that is left: following them must come round. */
function cycleError<N extends GraphNode>(
  nodes: readonly N[],
  edges: Edges<N>,
  open: Int32Array,
): VolleyError {
  const firstSeq = nodes[0]!.seq;
  const isStuck = (node: N) => nodes[node.seq - firstSeq] === node && open[node.seq - firstSeq]! > 0;
  const walked: N[] = [];
  const placeOf = new Map<N, number>();
  let at = nodes.find(isStuck)!;
  while (!placeOf.has(at)) {
    placeOf.set(at, walked.length);
    walked.push(at);
    at = edges[at.seq - firstSeq]!.find(isStuck)!;
  }
  const path = [...walked.slice(placeOf.get(at)), at].map((node) => node.id);
  return new VolleyError(
    'DEPENDENCY_CYCLE',
    `The dependencies form a cycle: ${shorten(path).join(' → ')} (each waits for the next). Remove one of them.`,
    { path },
  );
}

function shorten(path: readonly string[]): readonly string[] {
  return path.length <= 12 ? path : [...path.slice(0, 6), `… ${path.length - 11} more …`, ...path.slice(-5)];
}
