import { countText, listText, spanText } from '../../core/words.ts';
import { numberText } from '../output/numbers.ts';
import { type EdgePlace, type GraphLayout, layOutLinks, type NodePlace } from './graph-layout.ts';
import { fitName, legend, px, svgDocument, svgText, xml } from './svg.ts';
import {
  type DrawnNode,
  endedWithoutResult,
  type FinishedTask,
  itemsText,
  type TaskGraph,
  taskGraph,
} from './task-graph.ts';

const MARGIN = 24;
const TOP = 76;
const NARROWEST = 480;
/** The minimal width of rows of unlinked tasks. */
const GRID_WIDTH = 1100;
const MAX_READABLE = 300;
const MAX_EDGES = 5000;
const MAX_NAMES = 20;

/** Cards with names, or dots where there are too many to read. */
const CARD = { width: 196, height: 38, rowGap: 12, columnGap: 64, pass: 14, hasText: true };
const DOT = { width: 10, height: 10, rowGap: 3, columnGap: 70, pass: 3, hasText: false };
type Shape = typeof CARD;

/** The dependency graph from left to right, colored by status. */
export function graphSvg(batchName: string, tasks: readonly FinishedTask[]): string {
  const graph = taskGraph(tasks);
  const shape = graph.nodes.length <= MAX_READABLE ? CARD : DOT;
  const all = graph.nodes.map((_, node) => node);
  const isLinked = (node: number) => graph.before[node]!.length + graph.after[node]!.length > 0;
  const linked = all.filter(isLinked);
  const alone = all.filter((node) => !isLinked(node));
  const layout = layOutLinks(graph, linked, { node: shape.height + shape.rowGap, pass: shape.pass });
  const graphWidth = layout.columnCount * (shape.width + shape.columnGap) - shape.columnGap;
  const shownEdges = layout.edges.slice(0, MAX_EDGES);
  const grid = placeAlone(
    alone,
    Math.max(GRID_WIDTH, graphWidth),
    shape,
    linked.length === 0 ? 0 : layout.height + 44,
  );
  const contentWidth = Math.max(graphWidth, grid.width, NARROWEST);
  const contentHeight = Math.max(linked.length === 0 ? 0 : layout.height, grid.bottom);
  const notes = notesOf(graph, shape, layout.edges.length - shownEdges.length);
  const byNode = new Map(layout.nodes.map((place) => [place.node, place]));
  const bottom = TOP + contentHeight;
  const content = [
    tips(),
    svgText(MARGIN, 32, fitName(batchName || 'batch', contentWidth, 16), 'class="title"'),
    svgText(MARGIN, 52, headText(tasks, layout), 'class="small"'),
    ...shownEdges.map((edge) => drawEdge(edge, byNode, graph, shape)),
    ...layout.nodes.map((place) =>
      drawNode(graph.nodes[place.node]!, xOf(place.column, shape), TOP + place.y, shape),
    ),
    ...(alone.length > 0 && linked.length > 0
      ? [svgText(MARGIN, TOP + layout.height + 30, 'Without dependencies', 'class="small"')]
      : []),
    ...grid.places.map(({ node, x, y }) => drawNode(graph.nodes[node]!, x, TOP + y, shape)),
    ...legend(tasks, MARGIN, bottom + 24),
    ...notes.map((note, index) => svgText(MARGIN, bottom + 46 + index * 18, note, 'class="small"')),
  ];
  const height = bottom + 40 + notes.length * 18;
  return svgDocument(contentWidth + 2 * MARGIN, height, `${batchName}: dependencies`, content);
}

function headText(tasks: readonly FinishedTask[], { columnCount, edges }: GraphLayout): string {
  const count = `${numberText(tasks.length)} ${tasks.length === 1 ? 'task' : 'tasks'}`;
  return edges.length === 0
    ? `${count} without dependencies`
    : `${count} in ${countText(columnCount, 'step')}`;
}

/** Rows of unlinked tasks. */
function placeAlone(nodes: readonly number[], width: number, shape: Shape, top: number) {
  const columns = Math.max(1, Math.floor((width + shape.rowGap) / (shape.width + shape.rowGap)));
  const places = nodes.map((node, index) => ({
    node,
    x: MARGIN + (index % columns) * (shape.width + shape.rowGap),
    y: top + (Math.floor(index / columns) + 0.5) * (shape.height + shape.rowGap),
  }));
  const rows = Math.ceil(nodes.length / columns);
  return {
    places,
    width: Math.min(nodes.length, columns) * (shape.width + shape.rowGap) - shape.rowGap,
    bottom: nodes.length === 0 ? 0 : top + rows * (shape.height + shape.rowGap),
  };
}

function xOf(column: number, { width, columnGap }: Shape): number {
  return MARGIN + column * (width + columnGap);
}

function drawNode({ tasks, items }: DrawnNode, x: number, middle: number, shape: Shape): string {
  const [task] = tasks as [FinishedTask];
  const { width, height } = shape;
  const y = middle - height / 2;
  const title = `<title>${xml(nodeText(tasks, items))}</title>`;
  if (!shape.hasText) {
    return `<rect class="${task.status}" x="${px(x)}" y="${px(y)}" width="${width}" height="${height}" rx="3">${title}</rect>`;
  }
  const isMany = tasks.length > 1 || items.length > 0;
  const state = task.status === 'completed' || items.length > 0 ? '' : `${task.status}: `;
  const small = items.length === 0 ? task.function : `${task.function}: ${itemsText(items)}`;
  const name = tasks.length > 1 ? `${numberText(tasks.length)} tasks` : task.name || task.id;
  const room = width - 22;
  const box = `width="${width}" height="${height}" rx="5"`;
  return [
    `<g>${title}`,
    // Several look like a pile.
    isMany ? `<rect class="card" x="${px(x + 4)}" y="${px(y + 4)}" ${box}/>` : '',
    `<rect class="card" x="${px(x)}" y="${px(y)}" ${box}/>`,
    `<rect class="${task.status}" x="${px(x)}" y="${px(y)}" width="6" height="${height}" rx="3"/>`,
    svgText(x + 14, middle - 3, fitName(name, room, 12), 'font-size="12"'),
    svgText(
      x + 14,
      middle + 12,
      fitName(`${state}${small}`, room, 10),
      'class="small" style="font-size:10px"',
    ),
    '</g>',
  ].join('');
}

function nodeText(tasks: readonly FinishedTask[], items: readonly FinishedTask[]): string {
  const [first] = tasks as [FinishedTask];
  if (tasks.length > 1) {
    const names = tasks.slice(0, MAX_NAMES).map(({ name, id }) => name || id);
    return `${first.status}, ${first.function}: ${listText(names, tasks.length)}`;
  }
  const { id, name, function: functionName, status, durationMs, attempts } = first;
  const took = durationMs === undefined ? '' : ` in ${spanText(durationMs)}`;
  const tried = attempts > 1 ? `, ${attempts} attempts` : '';
  const counted = items.length === 0 ? '' : `, ${itemsText(items)}`;
  return `${name || id} (${functionName}, id ${id}): ${status}${took}${tried}${counted}`;
}

/** A curve that leaves and enters horizontally, and is straight where it passes a column. */
function drawEdge(
  { from, to, passes }: EdgePlace,
  byNode: ReadonlyMap<number, NodePlace>,
  graph: TaskGraph,
  shape: Shape,
): string {
  const [start, end] = [byNode.get(from)!, byNode.get(to)!];
  let x = xOf(start.column, shape) + shape.width;
  let y = TOP + start.y;
  let path = `M${px(x)} ${px(y)}`;
  const curveTo = (nextX: number, nextY: number) => {
    const half = px((x + nextX) / 2);
    path += `C${half} ${px(y)} ${half} ${px(nextY)} ${px(nextX)} ${px(nextY)}`;
    [x, y] = [nextX, nextY];
  };
  for (const pass of passes) {
    curveTo(xOf(pass.column, shape), TOP + pass.y);
    x += shape.width;
    path += `H${px(x)}`;
  }
  // The arrowhead takes the rest.
  curveTo(xOf(end.column, shape) - 5, TOP + end.y);
  const isBad = endedWithoutResult(graph.nodes[from]!.tasks[0]!);
  return `<path class="edge${isBad ? ' bad' : ''}" d="${path}" marker-end="url(#${isBad ? 'badtip' : 'tip'})"/>`;
}

function tips(): string {
  const tip = (id: string) =>
    `<marker id="${id}" viewBox="0 0 6 6" refX="1" refY="3" markerWidth="6" markerHeight="6" markerUnits="userSpaceOnUse" orient="auto"><path class="${id}" d="M0 0L6 3L0 6z"/></marker>`;
  return `<defs>${tip('tip')}${tip('badtip')}</defs>`;
}

function notesOf({ nodes, omitted }: TaskGraph, shape: Shape, omittedEdges: number): string[] {
  const notes: string[] = [];
  if (nodes.some(({ tasks }) => tasks.length > 1)) {
    notes.push('Tasks with the same function, status and dependencies share a node.');
  }
  if (!shape.hasText) notes.push('Too many tasks to show names: hover over a square to read its name.');
  if (omitted > 0) notes.push(`${numberText(omitted)} tasks are not shown.`);
  if (omittedEdges > 0) notes.push(`${numberText(omittedEdges)} edges are not shown.`);
  return notes;
}
