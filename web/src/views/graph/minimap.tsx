import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Camera, Extent } from '../../drawing/camera.ts';
import type { Palette } from '../../drawing/palette.ts';
import { cleared } from '../../drawing/use-canvas.ts';
import { NODE_HEIGHT, NODE_WIDTH } from '../../graph/layout.ts';
import type { PlacedGraph } from '../../graph/use-layout.ts';
import type { Row } from '../../model/row.ts';
import { type Shown, shownStatus } from '../../model/status.ts';

const MAX_WIDTH = 180;
const MAX_HEIGHT = 120;
const MARGIN = 6;

/** All of the graph in a corner, with a frame around what is in sight; a click or a drag moves there. */
export function Minimap(props: {
  graph: PlacedGraph;
  camera: Camera;
  view: Extent;
  palette: Palette;
  rows: readonly Row[];
  rowAt: (node: number) => Row | undefined;
  /** Brings a point of the drawing to the middle. */
  show: (x: number, y: number) => void;
}): JSX.Element {
  const { graph, camera, view, palette, rows, rowAt, show } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const { layout } = graph;
  const scale = Math.min(
    (MAX_WIDTH - 2 * MARGIN) / Math.max(1, layout.width),
    (MAX_HEIGHT - 2 * MARGIN) / Math.max(1, layout.height),
  );
  const size = {
    width: Math.max(40, Math.round(layout.width * scale)) + 2 * MARGIN,
    height: Math.max(24, Math.round(layout.height * scale)) + 2 * MARGIN,
  };
  useEffect(() => {
    const context = cleared(canvas.current!, size);
    const marks = new Map<Shown, Path2D>();
    const [wide, high] = [Math.max(1.5, NODE_WIDTH * scale), Math.max(1.5, NODE_HEIGHT * scale)];
    for (let node = 0; node < layout.xs.length; node++) {
      const row = rowAt(node);
      if (row === undefined) continue;
      const status = shownStatus(row);
      const path = marks.get(status) ?? new Path2D();
      marks.set(status, path);
      path.rect(
        MARGIN + layout.xs[node]! * scale - wide / 2,
        MARGIN + layout.ys[node]! * scale - high / 2,
        wide,
        high,
      );
    }
    for (const [status, path] of marks) {
      context.fillStyle = status === 'open' ? palette.line : palette.status[status];
      context.fill(path);
    }
    context.strokeStyle = palette.accent;
    context.lineWidth = 1.5;
    const [x, y] = [MARGIN + camera.x * scale, MARGIN + camera.y * scale];
    const [right, bottom] = [
      x + (view.width / camera.scale) * scale,
      y + (view.height / camera.scale) * scale,
    ];
    const [left, top] = [Math.max(1, x), Math.max(1, y)];
    context.strokeRect(
      left,
      top,
      Math.max(4, Math.min(size.width - 1, right) - left),
      Math.max(4, Math.min(size.height - 1, bottom) - top),
    );
  }, [graph, camera, view, palette, rows]);
  const move = (event: PointerEvent) => {
    event.stopPropagation();
    if (event.buttons === 0) return;
    const { left, top } = canvas.current!.getBoundingClientRect();
    show((event.clientX - left - MARGIN) / scale, (event.clientY - top - MARGIN) / scale);
  };
  return (
    <canvas
      ref={canvas}
      class="minimap"
      style={{ width: `${size.width}px`, height: `${size.height}px` }}
      onPointerDown={(event) => {
        canvas.current!.setPointerCapture(event.pointerId);
        move(event);
      }}
      onPointerMove={move}
      onPointerUp={(event) => event.stopPropagation()}
    />
  );
}
