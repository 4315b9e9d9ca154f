import type { Block } from './block.ts';
import { VolleyError } from './errors.ts';
import type { LinkedNode } from './graph-node.ts';

/** The places of a block so that each node stands behind what it depends on. */
export function blockOrder(block: Block<LinkedNode>): Int32Array {
  const open = new Int32Array(block.nodes.length);
  const order = block.order(open);
  if (order === undefined) throw cycleError(cycleIn(block, open));
  return order;
}

/** Every node that is left waits for another that is left: following them must come round. */
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
