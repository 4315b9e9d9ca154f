import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { percentText } from '../../../../src/cli/output/numbers.ts';
import { countText, spanText } from '../../../../src/core/words.ts';
import { serverNow } from '../../api/server-time.ts';
import { ARROW_STEPS } from '../../drawing/arrow-steps.ts';
import type { Extent } from '../../drawing/camera.ts';
import { usePalette } from '../../drawing/palette.ts';
import { cleared, useExtent } from '../../drawing/use-canvas.ts';
import { useGestures } from '../../drawing/use-gestures.ts';
import { type CriticalPath, criticalPath } from '../../model/critical-path.ts';
import { countItems } from '../../model/groups.ts';
import { titleOf } from '../../model/text.ts';
import type { BatchSync } from '../../store/batch-sync.ts';
import type { OpenBatch } from '../../store/state.ts';
import { state } from '../../store/store.ts';
import { AXIS_PX, drawTimeline, lanePx, type TimeView } from '../../timeline/draw.ts';
import { type Span, type Spans, spansOf } from '../../timeline/spans.ts';
import { waitOf } from '../../timeline/waits.ts';
import { now, useThrottled } from '../../ui/clock.ts';
import { DrawingTools } from '../../ui/drawing-tools.tsx';
import { Empty } from '../../ui/empty.tsx';
import { StatusText } from '../../ui/icons.tsx';
import { selectTask } from '../../ui/route.ts';
import { useTimeView } from './use-time-view.ts';

const DRAW_MS = 300;
/** A shorter range is a hand that trembles. */
const MIN_RANGE_PX = 8;
const NONE: ReadonlySet<string> = new Set();

/** What ran when, each try in a lane, and the chain that the end had to wait for. */
export function TimelineView(props: {
  open: OpenBatch;
  task: string | undefined;
  sync: BatchSync;
}): JSX.Element {
  const { open, task, sync } = props;
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const view = useExtent(frame);
  const palette = usePalette();
  const [hasPath, setHasPath] = useState(true);
  const [isByWorker, setByWorker] = useState(true);
  const [marked, setMarked] = useState<string>();
  const [pointed, setPointed] = useState<string>();
  const [range, setRange] = useState<readonly [fromX: number, toX: number]>();
  useEffect(() => sync.readAttemptsToo(), [sync]);

  const settled = useThrottled(open, DRAW_MS);
  const isRunning = settled.rows.some(({ status }) => status === 'running');
  const at = isRunning ? now.value : 0;
  const hasWorkers = useMemo(() => settled.rows.some(({ worker }) => worker !== null), [settled]);
  const byWorker = hasWorkers && isByWorker;
  const spans = useMemo(() => spansOf(settled.rows, at || serverNow(), byWorker), [settled, at, byWorker]);
  const path = useMemo(() => criticalPath(settled.rows, settled.places, at || serverNow()), [settled, at]);
  const hasDependencies = useMemo(() => settled.rows.some((row) => row.depends_on.length > 0), [settled]);
  const critical = useMemo(() => (hasPath ? new Set(path.ids) : NONE), [path, hasPath]);
  const items = useMemo(() => countItems(settled.rows), [settled]);
  const time = useTimeView(spans, view);
  const markedPlace = spans.list.findIndex((span) => keyOf(span) === marked);
  const pointedSpan = spans.list.find((span) => keyOf(span) === pointed);
  const tipped = range === undefined ? (pointedSpan ?? spans.list[markedPlace]) : undefined;
  const rowOf = (id: string) => settled.rows[settled.places.get(id) ?? -1];
  const startedAt = state.value.batches.get(open.name)?.started_at ?? null;
  const factsOf = (span: Span): SpanFacts => ({
    waitMs: waitOf(span, spans, rowOf, startedAt),
    isCritical: critical.has(span.row.id),
  });

  useEffect(() => {
    if (view.width === 0 || spans.list.length === 0) return;
    drawTimeline(cleared(canvas.current!, view), {
      spans,
      time: time.shown,
      view,
      palette,
      critical,
      items,
      selected: task,
      marked: markedPlace,
      pointed: pointedSpan?.row.id,
    });
  }, [spans, time.shown, view, palette, critical, items, task, markedPlace, pointed]);

  const spanAt = (x: number, y: number): Span | undefined => {
    const { fromMs, msPerPx, topPx } = time.shown;
    const lane = Math.floor((y - AXIS_PX - 4 + topPx) / lanePx(spans, view.height));
    const [low, high] = [fromMs + (x - 2) * msPerPx, fromMs + (x + 2) * msPerPx];
    return spans.list.find((span) => span.lane === lane && span.startMs <= high && span.endMs >= low);
  };
  useGestures(frame, {
    pan: time.pan,
    zoom: (factor, x) => time.zoom(factor, x),
    tap: (x, y) => {
      const span = spanAt(x, y);
      setMarked(span && keyOf(span));
      selectTask(span?.row.id);
    },
    hover: (x, y) => {
      const span = spanAt(x, y);
      setPointed(span && keyOf(span));
    },
    leave: () => setPointed(undefined),
    range: (fromX, toX, isOver) => {
      setRange(isOver ? undefined : [fromX, toX]);
      if (isOver && Math.abs(toX - fromX) >= MIN_RANGE_PX) time.zoomTo(fromX, toX);
    },
  });
  const mark = (place: number) => {
    const span = spans.list[Math.max(0, Math.min(spans.list.length - 1, place))];
    if (span === undefined) return;
    setMarked(keyOf(span));
    time.reveal(span);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = ARROW_STEPS[event.key];
    if (step !== undefined && event.shiftKey) time.pan(-60 * step[0], -60 * step[1]);
    else if (step !== undefined)
      mark(step[1] === 0 ? markedPlace + step[0] : besideLane(spans, markedPlace, step[1]));
    else if (event.key === 'Enter' && markedPlace >= 0) selectTask(spans.list[markedPlace]!.row.id);
    else if (event.key === '+' || event.key === '=') time.zoom(1.4, view.width / 2);
    else if (event.key === '-') time.zoom(1 / 1.4, view.width / 2);
    else if (event.key === '0') time.showAll();
    else return;
    event.preventDefault();
  };
  return (
    <div class="drawing">
      <div
        ref={frame}
        class="drawing-frame is-timeline"
        role="application"
        aria-label={`Timeline of ${spans.list.length} tries in ${spans.laneCount} lanes. Arrows move the mark, Enter opens it. The table has the same facts.`}
        tabIndex={0}
        onKeyDown={onKeyDown}
      >
        <canvas ref={canvas} />
        {range !== undefined && (
          <div
            class="drawing-range"
            style={{ left: `${Math.min(...range)}px`, width: `${Math.abs(range[1] - range[0])}px` }}
          />
        )}
        {tipped !== undefined && isInSight(tipped, time.shown, view) && (
          <SpanTip span={tipped} facts={factsOf(tipped)} place={tipPlace(tipped, spans, time.shown, view)} />
        )}
        {open.isLoaded && spans.list.length === 0 && <Empty title="Nothing has started yet" />}
      </div>
      <p class="sr-only" role="status">
        {markedPlace < 0 ? '' : describe(spans.list[markedPlace]!, factsOf(spans.list[markedPlace]!))}
      </p>
      <DrawingTools
        zoomIn={() => time.zoom(1.4, view.width / 2)}
        zoomOut={() => time.zoom(1 / 1.4, view.width / 2)}
        showAll={time.showAll}
      >
        {hasWorkers && (
          <label class="check">
            <input type="checkbox" checked={isByWorker} onChange={() => setByWorker(!isByWorker)} />
            <b>By worker</b>
          </label>
        )}
        {hasDependencies && (
          <label class="check">
            <input type="checkbox" checked={hasPath} onChange={() => setHasPath(!hasPath)} />
            <PathText path={path} spans={spans} />
          </label>
        )}
      </DrawingTools>
    </div>
  );
}

function PathText({ path, spans }: { path: CriticalPath; spans: Spans }): JSX.Element {
  if (path.ids.length === 0) return <span>Critical path</span>;
  const share = spans.lengthMs === 0 ? 1 : path.runningMs / spans.lengthMs;
  return (
    <span title={path.ids.join(' → ')}>
      <b>Critical path</b> {countText(path.ids.length, 'execution')}, {spanText(path.runningMs)} of work,{' '}
      {percentText(Math.min(1, share))} of the time
    </span>
  );
}

function keyOf({ row, attempt }: Span): string {
  return `${attempt} ${row.id}`;
}

/** The span in the next lane with spans that is nearest in time. */
function besideLane({ list }: Spans, from: number, step: number): number {
  const own = list[from];
  if (own === undefined) return 0;
  let best = from;
  let bestLanes = Number.POSITIVE_INFINITY;
  for (const [place, span] of list.entries()) {
    const lanes = (span.lane - own.lane) * step;
    if (lanes <= 0 || lanes > bestLanes) continue;
    const isNearer = Math.abs(span.startMs - own.startMs) < Math.abs(list[best]!.startMs - own.startMs);
    if (lanes < bestLanes || isNearer) best = place;
    bestLanes = lanes;
  }
  return best;
}

interface SpanFacts {
  readonly waitMs: number | undefined;
  readonly isCritical: boolean;
}

function describe(
  { row, attempt, outcome, startMs, endMs, worker }: Span,
  { waitMs, isCritical }: SpanFacts,
): string {
  const waited = waitMs === undefined ? '' : `, after waiting ${spanText(waitMs)}`;
  const path = isCritical ? ', on the critical path' : '';
  const where = worker === null ? '' : ` on ${worker}`;
  return `${titleOf(row)}, try ${attempt}${where}: ${outcome}, ${spanText(endMs - startMs)}${waited}${path}`;
}

const TIP_WIDTH = 240;
const TIP_HEIGHT = 112;

function isInSight({ startMs, endMs }: Span, { fromMs, msPerPx }: TimeView, { width }: Extent): boolean {
  return width > 0 && endMs >= fromMs && startMs <= fromMs + width * msPerPx;
}

/** Below its bar, or above it where there is no room, and never out of sight. */
function tipPlace(
  { startMs, lane }: Span,
  spans: Spans,
  { fromMs, msPerPx, topPx }: TimeView,
  { width, height }: Extent,
): { readonly left: number; readonly top: number } {
  const high = lanePx(spans, height);
  const y = AXIS_PX + 4 + lane * high - topPx;
  const below = y + high + 4;
  return {
    left: Math.max(8, Math.min(width - TIP_WIDTH - 8, (startMs - fromMs) / msPerPx)),
    top: below + TIP_HEIGHT <= height ? below : Math.max(4, y - TIP_HEIGHT - 4),
  };
}

/** The details of a bar. A screen reader reads the same of the mark. */
function SpanTip(props: {
  span: Span;
  facts: SpanFacts;
  place: { readonly left: number; readonly top: number };
}): JSX.Element {
  const { span, facts, place } = props;
  const { row, attempt, outcome, startMs, endMs, worker } = span;
  return (
    <div class="tip" aria-hidden="true" style={{ left: `${place.left}px`, top: `${place.top}px` }}>
      <b>{titleOf(row)}</b>
      <span class="quiet">
        {row.function}
        {attempt > 1 && `, try ${attempt}`}
        {worker !== null && `, on ${worker}`}
        {facts.isCritical && ', critical path'}
      </span>
      <StatusText status={outcome === 'crashed' ? 'failed' : outcome} />
      <span>
        Ran <b>{spanText(endMs - startMs)}</b>
        {facts.waitMs !== undefined && (
          <>
            , waited <b>{spanText(facts.waitMs)}</b>
          </>
        )}
      </span>
    </div>
  );
}
