import {
  type DependencyLinks,
  layOutLinks,
  linkDependencies,
} from '../../../src/cli/drawing/graph-layout.ts';

export const NODE_WIDTH = 208;
export const NODE_HEIGHT = 36;
const COLUMN_GAP = 72;
const ROW_GAP = 14;
/** A column with more than this many is wrapped: else a fan of a thousand is a line that nobody can read. */
const MAX_IN_COLUMN = 48;
/** How much broader than high a wrapped graph may be. */
const WIDE = 2.4;

export interface GraphItem {
  readonly id: string;
  readonly dependsOn: readonly string[];
}

/** Middles of nodes in the order of the items, and lines as flat lists of points. */
export interface Layout {
  readonly width: number;
  readonly height: number;
  readonly xs: Float64Array;
  readonly ys: Float64Array;
  readonly edges: readonly {
    readonly from: number;
    readonly to: number;
    readonly points: readonly number[];
  }[];
}

/** Columns by depth; what hangs together with nothing stands in a block below. */
export function layOutGraph(items: readonly GraphItem[]): Layout {
  const dependencies = linkDependencies(items);
  const { before, after } = dependencies;
  const linked: number[] = [];
  const alone: number[] = [];
  for (let place = 0; place < items.length; place++) {
    (before[place]!.length + after[place]!.length > 0 ? linked : alone).push(place);
  }
  const plane = new Plane(items.length);
  if (linked.length > 0) placeLinked(plane, linked, dependencies);
  placeAlone(plane, alone);
  return plane.finish();
}

class Plane {
  readonly xs: Float64Array;
  readonly ys: Float64Array;
  readonly edges: { from: number; to: number; points: number[] }[] = [];
  width = 0;
  height = 0;

  constructor(count: number) {
    this.xs = new Float64Array(count);
    this.ys = new Float64Array(count);
  }

  put(node: number, x: number, y: number): void {
    this.xs[node] = x;
    this.ys[node] = y;
    this.width = Math.max(this.width, x + NODE_WIDTH / 2);
    this.height = Math.max(this.height, y + NODE_HEIGHT / 2);
  }

  finish(): Layout {
    const { width, height, xs, ys, edges } = this;
    return { width, height, xs, ys, edges };
  }
}

function placeLinked(plane: Plane, linked: readonly number[], dependencies: DependencyLinks): void {
  const found = layOutLinks(dependencies, linked, { node: NODE_HEIGHT + ROW_GAP, pass: ROW_GAP });
  const columns: { node: number; y: number }[][] = Array.from({ length: found.columnCount }, () => []);
  for (const { node, column, y } of found.nodes) columns[column]!.push({ node, y });
  const rows = rowsToWrapAt(columns);
  const isWrapped = columns.some(({ length }) => length > Math.max(rows, MAX_IN_COLUMN));
  const lefts = isWrapped ? wrapColumns(plane, columns, rows) : placeColumns(plane, columns);
  for (const { from, to, passes } of found.edges) {
    const points = [plane.xs[from]! + NODE_WIDTH / 2, plane.ys[from]!];
    if (!isWrapped) {
      for (const { column, y } of passes) points.push(lefts[column]!, y, lefts[column]! + NODE_WIDTH, y);
    }
    points.push(plane.xs[to]! - NODE_WIDTH / 2, plane.ys[to]!);
    plane.edges.push({ from, to, points });
  }
}

function placeColumns(plane: Plane, columns: readonly { node: number; y: number }[][]): number[] {
  return columns.map((column, index) => {
    const left = index * (NODE_WIDTH + COLUMN_GAP);
    for (const { node, y } of column) plane.put(node, left + NODE_WIDTH / 2, y);
    return left;
  });
}

/** Neighbours in height stay near each other: rows are filled from left to right. */
function wrapColumns(plane: Plane, columns: readonly { node: number; y: number }[][], max: number): number[] {
  let left = 0;
  const acrossOf = (count: number) => Math.ceil(count / max);
  const rowsOf = (count: number) => Math.ceil(count / acrossOf(count));
  const high = columns.reduce((rows, { length }) => Math.max(rows, rowsOf(length)), 0);
  return columns.map((column) => {
    const own = left;
    const sorted = column.toSorted((a, b) => a.y - b.y);
    const across = acrossOf(sorted.length);
    const first = (high - rowsOf(sorted.length)) / 2;
    for (const [rank, { node }] of sorted.entries()) {
      const x = left + (rank % across) * (NODE_WIDTH + ROW_GAP);
      plane.put(node, x + NODE_WIDTH / 2, middle(first + Math.floor(rank / across)));
    }
    left += across * (NODE_WIDTH + ROW_GAP) - ROW_GAP + COLUMN_GAP;
    return own;
  });
}

/** So many rows that the whole is about as broad as a screen. */
function rowsToWrapAt(columns: readonly { readonly length: number }[]): number {
  const longest = columns.reduce((max, { length }) => Math.max(max, length), 0);
  for (let rows = MAX_IN_COLUMN / 2; rows < longest; rows = Math.ceil(rows * 1.2)) {
    const width = columns.reduce(
      (sum, { length }) => sum + Math.ceil(length / rows) * (NODE_WIDTH + ROW_GAP) + COLUMN_GAP,
      0,
    );
    if (width / (rows * (NODE_HEIGHT + ROW_GAP)) <= WIDE) return rows;
  }
  return longest;
}

function placeAlone(plane: Plane, alone: readonly number[]): void {
  const top = plane.height === 0 ? 0 : plane.height + 2 * COLUMN_GAP;
  const wide = Math.floor(plane.width / (NODE_WIDTH + ROW_GAP));
  // Nodes are broad: a block of as many rows as columns would be five times as broad as high.
  const across = Math.max(wide, Math.ceil(Math.sqrt(alone.length / 2.5)), 1);
  for (const [rank, node] of alone.entries()) {
    const x = (rank % across) * (NODE_WIDTH + ROW_GAP) + NODE_WIDTH / 2;
    plane.put(node, x, top + middle(Math.floor(rank / across)));
  }
}

function middle(row: number): number {
  return row * (NODE_HEIGHT + ROW_GAP) + NODE_HEIGHT / 2;
}
