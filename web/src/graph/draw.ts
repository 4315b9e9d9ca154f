import type { Camera, Extent } from '../drawing/camera.ts';
import type { Palette } from '../drawing/palette.ts';
import { Shortener } from '../drawing/use-canvas.ts';
import type { Row } from '../model/row.ts';
import { type Shown, shownStatus } from '../model/status.ts';
import { titleOf } from '../model/text.ts';
import { STATUS_PATHS } from '../ui/icons.tsx';
import { drawLabels } from './labels.ts';
import { NODE_HEIGHT, NODE_WIDTH } from './layout.ts';
import type { PlacedGraph } from './use-layout.ts';

/** Below this scale a node is a coloured mark, and names stand over the marks as far as there is room. */
const WORDS_SCALE = 0.5;
/** From this scale on words can be read with ease. */
export const READABLE_SCALE = 0.75;
const ICONS = new Map(Object.entries(STATUS_PATHS).map(([status, path]) => [status, new Path2D(path)]));
const NAMES = new Shortener(NODE_WIDTH - 44);
/** Where a click opens a group, at its right end. */
export const TOGGLE_WIDTH = 28;
const COUNT_WIDTH = 48;
const GROUP_NAMES = new Shortener(NODE_WIDTH - 40 - COUNT_WIDTH - TOGGLE_WIDTH);
const OPENED = new Path2D('M4 6l4 4l4-4');
const CLOSED = new Path2D('M6 4l4 4l-4 4');

/** What a node of a group says besides its name. */
export interface GroupMark {
  readonly count: string;
  readonly isOpened: boolean;
}

export interface Scene {
  readonly graph: PlacedGraph;
  readonly camera: Camera;
  readonly view: Extent;
  readonly palette: Palette;
  /** The place in the layout of what is selected and what is marked, or -1. */
  readonly selected: number;
  readonly marked: number;
}

export function drawEdges(context: CanvasRenderingContext2D, scene: Scene): void {
  const { graph, camera, palette, selected } = scene;
  const { edges } = graph.layout;
  enter(context, camera);
  context.lineWidth = Math.max(1, 0.6 / camera.scale);
  context.strokeStyle = palette.line;
  context.globalAlpha = edges.length > 2000 ? 0.35 : 0.8;
  context.beginPath();
  for (const edge of edges) if (isInSight(scene, edge.points)) trace(context, edge.points);
  context.stroke();
  context.globalAlpha = 1;
  if (selected < 0) return;
  context.lineWidth = Math.max(2, 1.5 / camera.scale);
  context.strokeStyle = palette.accent;
  context.beginPath();
  for (const edge of edges) {
    if (edge.from === selected || edge.to === selected) trace(context, edge.points);
  }
  context.stroke();
}

export function drawNodes(
  context: CanvasRenderingContext2D,
  scene: Scene,
  rowAt: (node: number) => Row | undefined,
  groupOf: (row: Row) => GroupMark | undefined,
): void {
  const { graph, camera, view, palette, selected, marked } = scene;
  const { xs, ys } = graph.layout;
  const hasWords = camera.scale >= WORDS_SCALE;
  const [right, bottom] = [camera.x + view.width / camera.scale, camera.y + view.height / camera.scale];
  enter(context, camera);
  context.font = `500 14px ${palette.font}`;
  context.textBaseline = 'middle';
  const marks = new Map<Shown, Path2D>();
  for (let node = 0; node < xs.length; node++) {
    const [left, top] = [xs[node]! - NODE_WIDTH / 2, ys[node]! - NODE_HEIGHT / 2];
    if (left > right || top > bottom || left + NODE_WIDTH < camera.x || top + NODE_HEIGHT < camera.y)
      continue;
    const row = rowAt(node);
    if (row === undefined) continue;
    if (hasWords) drawCard(context, palette, row, groupOf(row), left, top);
    else {
      const status = shownStatus(row);
      const path = marks.get(status) ?? new Path2D();
      marks.set(status, path);
      path.rect(left, top, NODE_WIDTH, NODE_HEIGHT);
    }
  }
  for (const [status, path] of marks) {
    // What has not begun stays in the background.
    context.fillStyle = status === 'open' ? palette.line : palette.status[status];
    context.fill(path);
  }
  outline(context, scene, marked, palette.quiet);
  outline(context, scene, selected, palette.accent);
  if (hasWords) return;
  leave(context, camera);
  drawLabels(context, scene, rowAt);
}

function drawCard(
  context: CanvasRenderingContext2D,
  palette: Palette,
  row: Row,
  group: GroupMark | undefined,
  left: number,
  top: number,
): void {
  const status = shownStatus(row);
  const colour = palette.status[status];
  if (group !== undefined) {
    // A pile.
    context.beginPath();
    context.roundRect(left + 4, top + 4, NODE_WIDTH, NODE_HEIGHT, 6);
    context.fillStyle = palette.raised;
    context.fill();
    context.lineWidth = 1;
    context.strokeStyle = colour;
    context.stroke();
  }
  context.beginPath();
  context.roundRect(left, top, NODE_WIDTH, NODE_HEIGHT, 6);
  context.fillStyle = palette.raised;
  context.fill();
  if (status === 'running' || status === 'failed') {
    context.globalAlpha = 0.14;
    context.fillStyle = colour;
    context.fill();
    context.globalAlpha = 1;
  }
  context.lineWidth = status === 'open' ? 1 : 1.5;
  context.strokeStyle = colour;
  context.stroke();
  if (status === 'running' && row.progress !== null) {
    context.fillStyle = colour;
    context.fillRect(left + 6, top + NODE_HEIGHT - 4, (NODE_WIDTH - 12) * row.progress, 2);
  }
  context.save();
  context.translate(left + 10, top + (NODE_HEIGHT - 16) / 2);
  context.lineWidth = 1.75;
  context.stroke(ICONS.get(status)!);
  context.restore();
  context.fillStyle = palette.text;
  const names = group === undefined ? NAMES : GROUP_NAMES;
  context.fillText(names.shorten(context, titleOf(row)), left + 34, top + NODE_HEIGHT / 2);
  if (group !== undefined) drawGroupMark(context, palette, group, left, top);
}

function drawGroupMark(
  context: CanvasRenderingContext2D,
  palette: Palette,
  { count, isOpened }: GroupMark,
  left: number,
  top: number,
): void {
  context.save();
  context.textAlign = 'right';
  context.font = `12px ${palette.font}`;
  context.fillStyle = palette.quiet;
  context.fillText(count, left + NODE_WIDTH - TOGGLE_WIDTH, top + NODE_HEIGHT / 2, COUNT_WIDTH);
  context.translate(left + NODE_WIDTH - TOGGLE_WIDTH + 6, top + (NODE_HEIGHT - 16) / 2);
  context.lineWidth = 1.75;
  context.strokeStyle = palette.quiet;
  context.stroke(isOpened ? OPENED : CLOSED);
  context.restore();
}

function outline(
  context: CanvasRenderingContext2D,
  { graph, camera }: Scene,
  node: number,
  colour: string,
): void {
  if (node < 0 || node >= graph.ids.length) return;
  const gap = 3 / camera.scale;
  context.beginPath();
  context.roundRect(
    graph.layout.xs[node]! - NODE_WIDTH / 2 - gap,
    graph.layout.ys[node]! - NODE_HEIGHT / 2 - gap,
    NODE_WIDTH + 2 * gap,
    NODE_HEIGHT + 2 * gap,
    8,
  );
  context.lineWidth = Math.max(2, 2 / camera.scale);
  context.strokeStyle = colour;
  context.stroke();
}

function enter(context: CanvasRenderingContext2D, { x, y, scale }: Camera): void {
  context.scale(scale, scale);
  context.translate(-x, -y);
}

function leave(context: CanvasRenderingContext2D, { x, y, scale }: Camera): void {
  context.translate(x, y);
  context.scale(1 / scale, 1 / scale);
}

/** Lines run from left to right, so that their ends show where they are. */
function isInSight({ camera, view }: Scene, points: readonly number[]): boolean {
  const right = camera.x + view.width / camera.scale;
  return points[0]! <= right && points[points.length - 2]! >= camera.x;
}

/** A line that leaves and arrives level. */
function trace(context: CanvasRenderingContext2D, points: readonly number[]): void {
  context.moveTo(points[0]!, points[1]!);
  for (let at = 2; at < points.length; at += 2) {
    const [x0, y0, x1, y1] = [points[at - 2]!, points[at - 1]!, points[at]!, points[at + 1]!];
    if (y0 === y1) context.lineTo(x1, y1);
    else context.bezierCurveTo((x0 + x1) / 2, y0, (x0 + x1) / 2, y1, x1, y1);
  }
}
