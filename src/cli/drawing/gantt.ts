import { countText, spanText } from '../../core/words.ts';
import type { TaskStatus } from '../../store/records.ts';
import { factorText, numberText } from '../output/numbers.ts';
import { drawnWidth, fitName, legend, px, svgDocument, svgText, xml } from './svg.ts';
import type { FinishedTask } from './task-graph.ts';
import { type TaskSpan, type Timeline, ticksFor, timelineOf } from './timeline.ts';

const WIDTH = 1200;
const MARGIN = 24;
const PLOT_TOP = 92;
const MAX_BARS = 4000;
const MAX_LANES = 400;
const MAX_TICKS = 12;
const FONT = 11;
const NARROWEST_BAR = 1.5;

/** Lane heights by the number of lanes. */
const LANE_SIZES = [
  { upTo: 6, lane: 40, bar: 34, hasLabels: true },
  { upTo: 16, lane: 30, bar: 26, hasLabels: true },
  { upTo: 40, lane: 24, bar: 20, hasLabels: true },
  { upTo: 100, lane: 12, bar: 10, hasLabels: false },
  { upTo: MAX_LANES, lane: 5, bar: 4, hasLabels: false },
] as const;
type LaneSize = (typeof LANE_SIZES)[number];

/** A timeline with a bar for each task. Tasks that ran at once stand below each other. */
export function ganttSvg(batchName: string, tasks: readonly FinishedTask[]): string {
  const timeline = timelineOf(tasks);
  const laneCount = Math.min(timeline.laneCount, MAX_LANES);
  const size = LANE_SIZES.find(({ upTo }) => laneCount <= upTo) ?? LANE_SIZES.at(-1)!;
  const lengthMs = Math.max(1, timeline.lengthMs);
  const scale = (WIDTH - 2 * MARGIN) / lengthMs;
  const toX = (ms: number) => MARGIN + ms * scale;
  const plotHeight = Math.max(1, laneCount) * size.lane + 8;
  const bars = barsOf(
    timeline.spans.filter(({ lane }) => lane < laneCount),
    MAX_BARS,
    1 / scale,
  );
  const notes = notesOf(timeline, bars, laneCount, tasks);
  const content = [
    svgText(MARGIN, 32, fitName(batchName || 'batch', WIDTH - 2 * MARGIN, 16), 'class="title"'),
    svgText(MARGIN, 52, headText(tasks, timeline), 'class="small"'),
    ...axis(lengthMs, toX, plotHeight),
    ...bands(laneCount, size),
    ...drawBars(bars, toX, size, itemCounts(tasks)),
    ...legend(tasks, MARGIN, PLOT_TOP + plotHeight + 24),
    ...notes.map((note, index) =>
      svgText(MARGIN, PLOT_TOP + plotHeight + 46 + index * 18, note, 'class="small"'),
    ),
  ];
  const height = PLOT_TOP + plotHeight + 40 + notes.length * 18;
  return svgDocument(WIDTH, height, `${batchName}: timeline`, content);
}

function headText(
  tasks: readonly FinishedTask[],
  { taskCount, spans, laneCount, groupLanes, lengthMs }: Timeline,
): string {
  if (spans.length === 0) return `${countText(tasks.length, 'task')}, none started.`;
  const worked = spans.filter(({ task }) => task.isGroup !== true);
  const workMs = worked.reduce((sum, { startMs, endMs }) => sum + endMs - startMs, 0);
  const head = `${numberText(taskCount)} ${taskCount === 1 ? 'task' : 'tasks'} in ${spanText(lengthMs)}`;
  const factor = lengthMs > 0 ? workMs / lengthMs : 1;
  if (factor < 1.05) return head;
  return `${head}: ${spanText(workMs)} of work, ${factorText(factor)}× the speed of one task at a time; at most ${laneCount - groupLanes} at once`;
}

function axis(lengthMs: number, toX: (ms: number) => number, plotHeight: number): string[] {
  return ticksFor(lengthMs, MAX_TICKS).flatMap(({ ms, text }) => {
    const x = px(toX(ms));
    const width = drawnWidth(text, 12);
    // The last one must stay inside.
    const isLast = toX(ms) + width / 2 > WIDTH - 4;
    const anchor = ms === 0 ? 'start' : isLast ? 'end' : 'middle';
    return [
      `<line class="line" x1="${x}" x2="${x}" y1="${PLOT_TOP - 6}" y2="${px(PLOT_TOP + plotHeight)}"/>`,
      svgText(toX(ms), PLOT_TOP - 12, text, `class="small" text-anchor="${anchor}"`),
    ];
  });
}

/** A background for every other lane. */
function bands(laneCount: number, { lane: height, hasLabels }: LaneSize): string[] {
  if (!hasLabels) return [];
  const even = Array.from({ length: Math.ceil(laneCount / 2) }, (_, index) => index * 2);
  const width = WIDTH - 2 * MARGIN;
  return even.map(
    (lane) =>
      `<rect class="band" opacity="0.6" x="${MARGIN}" y="${PLOT_TOP + lane * height}" width="${width}" height="${height}"/>`,
  );
}

/** How many items each group has, by its id. */
function itemCounts(tasks: readonly FinishedTask[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { group } of tasks) if (group !== undefined) counts.set(group, (counts.get(group) ?? 0) + 1);
  return counts;
}

function drawBars(
  bars: readonly Bar[],
  toX: (ms: number) => number,
  size: LaneSize,
  items: ReadonlyMap<string, number>,
): string[] {
  const nextInLane = new Map<number, number>();
  const parts: string[] = [];
  // From the right, so that each bar knows the room after it.
  for (const bar of [...bars].sort((a, b) => b.startMs - a.startMs)) {
    const x = toX(bar.startMs);
    const right = Math.max(x + NARROWEST_BAR, toX(bar.endMs));
    const limit = nextInLane.get(bar.lane) ?? WIDTH - MARGIN;
    nextInLane.set(bar.lane, x);
    const y = PLOT_TOP + bar.lane * size.lane + (size.lane - size.bar) / 2;
    // A gap between bars that are wide enough.
    const gap = right - x > 4 ? 1 : 0;
    const radius = size.hasLabels && right - x > 6 ? ' rx="3"' : '';
    const isGroup = isOfGroup(bar);
    // A group only waits: it is a frame around its items.
    const style = isGroup ? ' fill-opacity="0.25"' : '';
    parts.push(
      `<rect class="${bar.status}"${style} x="${px(x)}" y="${px(y)}" width="${px(right - x - gap)}" height="${size.bar}"${radius}><title>${xml(barText(bar, items))}</title></rect>`,
    );
    if (bar.failed > 0 && bar.status !== 'failed') {
      const share = Math.max(NARROWEST_BAR, ((right - x - gap) * bar.failed) / bar.spans.length);
      const height = size.bar / 4;
      parts.push(
        `<rect class="failed" x="${px(x)}" y="${px(y + size.bar - height)}" width="${px(share)}" height="${px(height)}"/>`,
      );
    }
    if (size.hasLabels) parts.push(...label(bar, items, x, right, limit, y + size.bar / 2 + 4));
  }
  return parts;
}

/** Inside the bar, or after it where there is more room. */
function label(
  bar: Bar,
  items: ReadonlyMap<string, number>,
  x: number,
  right: number,
  limit: number,
  y: number,
): string[] {
  const [inside, behind] = [right - x - 12, limit - right - 10];
  const name = labelText(bar, items, inside);
  const full = drawnWidth(name, FONT);
  if (full <= inside || inside >= behind) {
    const text = fitName(name, inside, FONT);
    return text === ''
      ? []
      : [
          svgText(
            x + 6,
            y,
            text,
            `${isOfGroup(bar) ? '' : 'class="inside" '}font-size="${FONT}" pointer-events="none"`,
          ),
        ];
  }
  const text = fitName(name, behind, FONT, 8);
  return text === '' ? [] : [svgText(right + 4, y, text, `font-size="${FONT}" pointer-events="none"`)];
}

function isOfGroup({ spans }: Bar): boolean {
  return spans[0]!.task.isGroup === true;
}

function labelText({ spans, status }: Bar, items: ReadonlyMap<string, number>, room: number): string {
  const count = numberText(spans.length);
  if (spans.length > 1) return drawnWidth(`${count} tasks`, FONT) <= room ? `${count} tasks` : count;
  const { name, id } = spans[0]!.task;
  return `${status === 'failed' ? '✗ ' : ''}${name || id}${countedText(items.get(id))}`;
}

function countedText(items: number | undefined): string {
  return items === undefined ? '' : `: ${numberText(items)} ${items === 1 ? 'item' : 'items'}`;
}

function barText({ spans, startMs, endMs, failed }: Bar, items: ReadonlyMap<string, number>): string {
  const when = `${spanText(endMs - startMs)}, from ${spanText(startMs)} to ${spanText(endMs)}`;
  if (spans.length > 1) {
    return `${numberText(spans.length)} tasks${failed > 0 ? `, ${numberText(failed)} of them failed` : ''}: ${when}`;
  }
  const { id, name, function: functionName, status, attempts } = spans[0]!.task;
  return `${name} (${functionName})${countedText(items.get(id))}: ${status}${attempts > 1 ? ` after ${countText(attempts, 'attempt')}` : ''}, ${when}`;
}

function notesOf(
  { taskCount, laneCount }: Timeline,
  bars: readonly Bar[],
  shownLanes: number,
  tasks: readonly FinishedTask[],
): string[] {
  const notes: string[] = [];
  const never = tasks.length - taskCount;
  if (never > 0 && taskCount > 0) {
    notes.push(
      `${countText(never, 'task')} ${never === 1 ? 'was' : 'were'} never started and ${never === 1 ? 'is' : 'are'} not shown.`,
    );
  }
  if (bars.some((bar) => bar.spans.length > 1)) {
    notes.push('Consecutive short tasks share a bar; the red line below it is the share that failed.');
  }
  if (laneCount > shownLanes) {
    notes.push(`Only the first ${numberText(shownLanes)} of ${numberText(laneCount)} lanes are shown.`);
  }
  return notes;
}

/** A task, or several short ones in close succession. */
export interface Bar {
  readonly lane: number;
  readonly startMs: number;
  readonly endMs: number;
  /** The most frequent. */
  readonly status: TaskStatus;
  readonly failed: number;
  readonly spans: readonly TaskSpan[];
}

/** At most `max` bars: of more tasks, short ones are joined, so that a lane looks as busy as it was. */
export function barsOf(spans: readonly TaskSpan[], max: number, msPerPixel: number): Bar[] {
  const byLane: TaskSpan[][] = [];
  for (const span of spans) {
    byLane[span.lane] ??= [];
    byLane[span.lane]!.push(span);
  }
  let width = 0;
  let bars = spans.map(toBar);
  while (bars.length > max) {
    width = width === 0 ? msPerPixel : width * 2;
    bars = byLane.flatMap((lane) => bundle(lane, width));
  }
  return bars;
}

/** Joins tasks that are shorter than the width and no further apart. */
function bundle(lane: readonly TaskSpan[], width: number): Bar[] {
  const bars: Bar[] = [];
  let open: TaskSpan[] = [];
  let end = 0;
  const close = () => {
    if (open.length > 0) bars.push(toBundle(open, end));
    open = [];
  };
  for (const span of lane) {
    const isShort = span.endMs - span.startMs < width;
    if (!isShort || (open.length > 0 && span.startMs - end > width)) close();
    if (isShort) {
      end = open.length === 0 ? span.endMs : Math.max(end, span.endMs);
      open.push(span);
    } else {
      bars.push(toBar(span));
    }
  }
  close();
  return bars;
}

function toBar(span: TaskSpan): Bar {
  return toBundle([span], span.endMs);
}

function toBundle(spans: readonly TaskSpan[], endMs: number): Bar {
  const counts = new Map<TaskStatus, number>();
  for (const { task } of spans) counts.set(task.status, (counts.get(task.status) ?? 0) + 1);
  let [{ task: commonest }] = spans as [TaskSpan];
  for (const { task } of spans)
    if (counts.get(task.status)! > counts.get(commonest.status)!) commonest = task;
  const { lane, startMs } = spans[0]!;
  return { lane, startMs, endMs, status: commonest.status, failed: counts.get('failed') ?? 0, spans };
}
