import type { Layout } from './layout.ts';

export type Direction = 'ArrowLeft' | 'ArrowRight' | 'ArrowUp' | 'ArrowDown';

/** The node that a key leads to: along a line to the left or right, else to the nearest one on that side. */
export function neighbour(layout: Layout, from: number, direction: Direction): number {
  if (from < 0) return layout.xs.length > 0 ? 0 : -1;
  const linked: number[] = [];
  if (direction === 'ArrowLeft' || direction === 'ArrowRight') {
    for (const edge of layout.edges) {
      if (direction === 'ArrowLeft' && edge.to === from) linked.push(edge.from);
      if (direction === 'ArrowRight' && edge.from === from) linked.push(edge.to);
    }
  }
  const candidates = linked.length > 0 ? linked : layout.xs.keys();
  let best = from;
  let min = Number.POSITIVE_INFINITY;
  for (const node of candidates) {
    const cost = costOf(layout, from, node, direction);
    if (cost < min) [best, min] = [node, cost];
  }
  return best;
}

/** How far a node is, where being off the way counts more than being far along it. */
function costOf({ xs, ys }: Layout, from: number, to: number, direction: Direction): number {
  const [dx, dy] = [xs[to]! - xs[from]!, ys[to]! - ys[from]!];
  const isAcross = direction === 'ArrowLeft' || direction === 'ArrowRight';
  const sign = direction === 'ArrowLeft' || direction === 'ArrowUp' ? -1 : 1;
  const along = sign * (isAcross ? dx : dy);
  if (along <= 0) return Number.POSITIVE_INFINITY;
  return along + 3 * Math.abs(isAcross ? dy : dx);
}
