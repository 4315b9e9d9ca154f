import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { numberText } from '../../../../src/cli/output/numbers.ts';
import { ARROW_STEPS } from '../../drawing/arrow-steps.ts';
import { type Camera, cameraAt, fitAll, fitReadable, pan, reveal, zoom } from '../../drawing/camera.ts';
import { usePalette } from '../../drawing/palette.ts';
import { cleared, useExtent } from '../../drawing/use-canvas.ts';
import { useGestures } from '../../drawing/use-gestures.ts';
import { drawEdges, drawNodes, type GroupMark, READABLE_SCALE, TOGGLE_WIDTH } from '../../graph/draw.ts';
import { NODE_HEIGHT, NODE_WIDTH } from '../../graph/layout.ts';
import { type Direction, neighbour } from '../../graph/neighbours.ts';
import { MAX_ITEMS, useLayout } from '../../graph/use-layout.ts';
import { countItems, doneText, noteText, shortText, totalOf } from '../../model/groups.ts';
import type { Row } from '../../model/row.ts';
import { STATUS_TEXT, shownStatus } from '../../model/status.ts';
import { titleOf } from '../../model/text.ts';
import type { OpenBatch } from '../../store/state.ts';
import { useAddressedNumbers } from '../../ui/addressed.ts';
import { useThrottled } from '../../ui/clock.ts';
import { DrawingTools } from '../../ui/drawing-tools.tsx';
import { Empty } from '../../ui/empty.tsx';
import { StatusIcon } from '../../ui/icons.tsx';
import type { OpenedGroups } from '../../ui/opened-groups.ts';
import { selectTask } from '../../ui/route.ts';
import { useShortcuts } from '../../ui/shortcuts.ts';
import { Minimap } from './minimap.tsx';

/** How often nodes are drawn anew as their states change. */
const DRAW_MS = 150;
/** A graph of this size begins with names that can be read, a larger one with all of it. */
const MAX_READABLE = 300;
const KEY_STEP_PX = 60;

/** Who waits for whom, with the state of each as it changes. */
export function GraphView(props: {
  open: OpenBatch;
  task: string | undefined;
  groups: OpenedGroups;
}): JSX.Element {
  const { open, task, groups } = props;
  const frame = useRef<HTMLDivElement>(null);
  const edgeCanvas = useRef<HTMLCanvasElement>(null);
  const nodeCanvas = useRef<HTMLCanvasElement>(null);
  const view = useExtent(frame);
  const graph = useLayout(open, groups.opened);
  const palette = usePalette();
  const rows = useThrottled(open.rows, DRAW_MS);
  const items = useMemo(() => countItems(rows), [rows]);
  const groupOf = (row: Row): GroupMark | undefined => {
    const counts = items.get(row.id);
    return counts && { count: shortText(row, counts), isOpened: groups.opened.has(row.id) };
  };
  const [focus, setFocus] = useAddressedNumbers('graph', 3);
  const [cx = 0, cy = 0, scale = 1] = focus ?? [];
  const moved = useMemo(
    () => (focus === undefined ? undefined : cameraAt(cx, cy, Math.max(0.001, Math.min(4, scale)), view)),
    [focus, view],
  );
  const setMoved = ({ x, y, scale: own }: Camera) =>
    setFocus([x + view.width / 2 / own, y + view.height / 2 / own, own]);
  /** The group that was opened or closed last, and where it was: it stays there. */
  const anchor = useRef<{ id: string; x: number; y: number; camera: Camera } | undefined>(undefined);
  const [marked, setMarked] = useState(-1);
  const whole = useMemo(
    () => (graph === undefined || view.width === 0 ? undefined : fitAll(graph.layout, view)),
    [graph, view],
  );
  const first = useMemo(
    () =>
      graph === undefined || whole === undefined || graph.ids.length > MAX_READABLE
        ? whole
        : fitReadable(graph.layout, view, READABLE_SCALE),
    [graph, view, whole],
  );
  const camera = moved ?? first;
  const nodeOf = useMemo(() => new Map(graph?.ids.map((id, node) => [id, node])), [graph]);
  const rowAt = (node: number): Row | undefined => rows[open.places.get(graph?.ids[node] ?? '') ?? -1];
  const selected = task === undefined ? -1 : (nodeOf.get(task) ?? -1);
  const scene =
    graph === undefined || camera === undefined
      ? undefined
      : { graph, camera, view, palette, selected, marked };

  useEffect(() => {
    const node = nodeOf.get(anchor.current?.id ?? '');
    if (graph === undefined || anchor.current === undefined || node === undefined) return;
    const { x, y, camera: before } = anchor.current;
    const { xs, ys } = graph.layout;
    anchor.current = undefined;
    setMoved({ ...before, x: before.x + xs[node]! - x, y: before.y + ys[node]! - y });
  }, [graph]);
  useEffect(() => {
    if (scene !== undefined) drawEdges(cleared(edgeCanvas.current!, view), scene);
  }, [graph, camera, view, palette, selected]);
  useEffect(() => {
    if (scene !== undefined) drawNodes(cleared(nodeCanvas.current!, view), scene, rowAt, groupOf);
  }, [graph, camera, view, palette, selected, marked, rows, groups]);

  const zoomBy = (factor: number, x = view.width / 2, y = view.height / 2) => {
    if (camera !== undefined && whole !== undefined) setMoved(zoom(camera, factor, x, y, whole.scale));
  };
  const panBy = (dx: number, dy: number) => {
    if (camera !== undefined) setMoved(pan(camera, dx, dy));
  };
  const nodeAt = (x: number, y: number): number => {
    if (graph === undefined || camera === undefined) return -1;
    const [wx, wy] = [camera.x + x / camera.scale, camera.y + y / camera.scale];
    const { xs, ys } = graph.layout;
    return xs.findIndex(
      (nx, node) => Math.abs(nx - wx) <= NODE_WIDTH / 2 && Math.abs(ys[node]! - wy) <= NODE_HEIGHT / 2,
    );
  };
  const isToggle = (node: number, x: number): boolean => {
    if (node < 0 || camera === undefined || camera.scale < READABLE_SCALE) return false;
    return camera.x + x / camera.scale > graph!.layout.xs[node]! + NODE_WIDTH / 2 - TOGGLE_WIDTH;
  };
  /** Opens or closes the group of a node, if it is one. */
  const toggle = (node: number): boolean => {
    const id = graph?.ids[node];
    if (id === undefined || camera === undefined || !items.has(id)) return false;
    anchor.current = { id, x: graph!.layout.xs[node]!, y: graph!.layout.ys[node]!, camera };
    groups.toggle(id);
    return true;
  };
  const describeNode = (node: number): string => {
    const row = rowAt(node);
    const counts = row && items.get(row.id);
    if (row === undefined || counts === undefined) return describe(row);
    const isOpened = groups.opened.has(row.id);
    const hidden = isOpened && totalOf(counts) > MAX_ITEMS ? `, the first ${MAX_ITEMS} of them shown` : '';
    const parts = [describe(row), doneText(row, counts), noteText(counts)].filter(Boolean);
    return `${parts.join(', ')}${hidden}. Space ${isOpened ? 'closes' : 'opens'} the group.`;
  };
  useGestures(frame, {
    pan: panBy,
    zoom: zoomBy,
    tap: (x, y) => {
      const node = nodeAt(x, y);
      setMarked(node);
      if (!isToggle(node, x) || !toggle(node)) selectTask(graph?.ids[node]);
    },
    hover: (x, y) => {
      frame.current!.title = describeNode(nodeAt(x, y));
    },
    leave: () => undefined,
  });
  const markTo = (node: number) => {
    setMarked(node);
    if (graph === undefined || camera === undefined || node < 0) return;
    const box = {
      x: graph.layout.xs[node]! - NODE_WIDTH / 2,
      y: graph.layout.ys[node]! - NODE_HEIGHT / 2,
      width: NODE_WIDTH,
      height: NODE_HEIGHT,
    };
    setMoved(reveal(camera, view, box));
  };
  const showAll = () => {
    if (whole !== undefined) setMoved(whole);
  };
  /** Nodes of what failed; of an item in a closed group, its group. */
  const failed = useMemo(() => {
    const nodes = rows
      .filter(({ status }) => status === 'failed')
      .map(({ id, group }) => nodeOf.get(id) ?? nodeOf.get(group ?? '') ?? -1);
    return [...new Set(nodes)].filter((node) => node >= 0).sort((a, b) => a - b);
  }, [rows, nodeOf]);
  const nextFailed = () => {
    const node = failed.find((one) => one > marked) ?? failed[0];
    if (node === undefined || graph === undefined || camera === undefined) return;
    const { xs, ys } = graph.layout;
    setMarked(node);
    setMoved(cameraAt(xs[node]!, ys[node]!, Math.max(READABLE_SCALE, camera.scale), view));
    selectTask(graph.ids[node]);
  };
  useShortcuts({ e: nextFailed });
  const onKeyDown = (event: KeyboardEvent) => {
    if (graph === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    const step = ARROW_STEPS[event.key];
    if (step !== undefined && event.shiftKey) panBy(-step[0] * KEY_STEP_PX, -step[1] * KEY_STEP_PX);
    else if (step !== undefined) markTo(neighbour(graph.layout, marked, event.key as Direction));
    else if (event.key === 'Enter' && marked >= 0) selectTask(graph.ids[marked]);
    else if (event.key === ' ') toggle(marked);
    else if (event.key === '+' || event.key === '=') zoomBy(1.3);
    else if (event.key === '-') zoomBy(1 / 1.3);
    else if (event.key === '0') showAll();
    else return;
    event.preventDefault();
  };
  if (open.isLoaded && open.rows.length === 0) return <Empty title="No tasks in this batch" />;
  return (
    <div class="drawing">
      <div
        ref={frame}
        class="drawing-frame"
        role="application"
        aria-label={`Graph of ${graph?.ids.length ?? open.rows.length} executions. Arrows move the mark, Enter opens it. The table has the same facts.`}
        tabIndex={0}
        onKeyDown={onKeyDown}
      >
        <canvas ref={edgeCanvas} />
        <canvas ref={nodeCanvas} />
        {graph !== undefined &&
          camera !== undefined &&
          whole !== undefined &&
          camera.scale > whole.scale * 1.05 && (
            <Minimap
              {...{ graph, camera, view, palette, rows, rowAt }}
              show={(x, y) => setMoved(cameraAt(x, y, camera.scale, view))}
            />
          )}
        {graph === undefined && <p class="drawing-wait quiet">Laying out the graph…</p>}
      </div>
      <p class="sr-only" role="status">
        {describeNode(marked)}
      </p>
      <DrawingTools zoomIn={() => zoomBy(1.3)} zoomOut={() => zoomBy(1 / 1.3)} showAll={showAll}>
        {failed.length > 0 && (
          <button type="button" class="button" title="Next failed (e)" onClick={nextFailed}>
            <StatusIcon status="failed" /> Next failed <b>{numberText(failed.length)}</b>
          </button>
        )}
      </DrawingTools>
    </div>
  );
}

function describe(row: Row | undefined): string {
  if (row === undefined) return '';
  return `${titleOf(row)}: ${STATUS_TEXT[shownStatus(row)].toLowerCase()} (${row.function})`;
}
