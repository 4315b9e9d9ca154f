import { ticksFor } from '../../../src/cli/drawing/timeline.ts';
import type { Extent } from '../drawing/camera.ts';
import type { Palette } from '../drawing/palette.ts';
import { cut } from '../drawing/use-canvas.ts';
import { doneText, type ItemCounts } from '../model/groups.ts';
import type { Shown } from '../model/status.ts';
import { titleOf } from '../model/text.ts';
import type { Span, Spans } from './spans.ts';

export const AXIS_PX = 28;
const TICK_PX = 90;
/** Bars narrower than this have no words. */
const WORDS_FROM_PX = 36;
/** Where more retries than this are in sight, their lines would be a tangle: only those that are asked for are drawn. */
const MAX_LINES = 24;

/** The part of the time that is in sight, and how far the lanes are scrolled. */
export interface TimeView {
  readonly fromMs: number;
  readonly msPerPx: number;
  readonly topPx: number;
}

export interface TimeScene {
  readonly spans: Spans;
  readonly time: TimeView;
  readonly view: Extent;
  readonly palette: Palette;
  readonly critical: ReadonlySet<string>;
  /** The items of groups, counted. */
  readonly items: ReadonlyMap<string, ItemCounts>;
  readonly selected: string | undefined;
  /** The place of the marked span, or -1. */
  readonly marked: number;
  /** The execution under the pointer. */
  readonly pointed: string | undefined;
}

/** Few lanes are broad, many are narrow, and more than fit are scrolled. A title must stay readable. */
export function lanePx({ laneCount, titles }: Pick<Spans, 'laneCount' | 'titles'>, height: number): number {
  const min = titles.length === 0 ? 8 : 14;
  return Math.max(min, Math.min(28, Math.floor((height - AXIS_PX - 8) / Math.max(1, laneCount))));
}

export function drawTimeline(context: CanvasRenderingContext2D, scene: TimeScene): void {
  const { spans, time, view, palette, selected, marked, pointed } = scene;
  const high = lanePx(spans, view.height);
  const left = (ms: number) => (ms - time.fromMs) / time.msPerPx;
  const boxOf = ({ startMs, endMs, lane }: Span): Box => {
    const length = (endMs - startMs) / time.msPerPx;
    // A gap keeps apart what follows close.
    const wide = Math.max(1.5, length > 4 ? length - 1 : length);
    return { x: left(startMs), y: AXIS_PX + 4 + lane * high - time.topPx, wide, high: high - 2 };
  };
  const seen: Seen[] = [];
  for (const [place, span] of spans.list.entries()) {
    const box = boxOf(span);
    const { x, y, wide } = box;
    if (x > view.width || x + wide < 0 || y > view.height || y + high < AXIS_PX) continue;
    const before = span.before < 0 ? undefined : boxOf(spans.list[span.before]!);
    seen.push({ span, box, before, isMarked: place === marked });
  }
  context.save();
  context.beginPath();
  context.rect(0, AXIS_PX, view.width, view.height - AXIS_PX);
  context.clip();
  drawGrid(context, scene, left);
  drawTitles(context, scene, high);
  const retries = seen.filter(({ before }) => before !== undefined);
  if (retries.length <= MAX_LINES)
    for (const one of retries) drawRetry(context, one, palette.status.retrying);
  const hatch = hatchOf(context, palette);
  context.font = `11px ${palette.font}`;
  context.textBaseline = 'middle';
  for (const { span, box } of seen) drawBar(context, scene, span, box, hatch);
  // What somebody asks for stands before all the rest.
  const asked = new Set([selected, pointed, spans.list[marked]?.row.id]);
  for (const one of retries)
    if (asked.has(one.span.row.id)) drawRetry(context, one, palette.text, palette.surface);
  for (const { span, box, isMarked } of seen) {
    if (span.row.id === selected) outline(context, palette.accent, box);
    else if (isMarked || span.row.id === pointed) outline(context, palette.text, box);
  }
  context.restore();
  drawAxis(context, scene, left);
}

interface Box {
  readonly x: number;
  readonly y: number;
  readonly wide: number;
  readonly high: number;
}

/** A try that is in sight. */
interface Seen {
  readonly span: Span;
  readonly box: Box;
  /** Where the try before it is, if there was one. */
  readonly before: Box | undefined;
  readonly isMarked: boolean;
}

function drawBar(
  context: CanvasRenderingContext2D,
  { palette, critical, items }: TimeScene,
  span: Span,
  { x, y, wide, high }: Box,
  hatch: CanvasPattern | null,
): void {
  const isCritical = critical.has(span.row.id);
  context.fillStyle = palette.status[statusOf(span)];
  const isDimmed = critical.size > 0 && !isCritical;
  // A group only waits: it is a frame around its items.
  const isGroup = span.row.group_kind !== null;
  context.globalAlpha = isGroup ? 0.25 : isDimmed ? 0.45 : 1;
  context.fillRect(x, y, wide, high);
  if (isGroup) {
    context.globalAlpha = isDimmed ? 0.45 : 1;
    context.lineWidth = 1;
    context.strokeStyle = palette.status[statusOf(span)];
    context.strokeRect(x + 0.5, y + 0.5, wide - 1, high - 1);
  }
  // Failures are told by their hatching as well as by their colour.
  if (hatch !== null && statusOf(span) === 'failed') {
    context.fillStyle = hatch;
    context.fillRect(x, y, wide, high);
  }
  context.globalAlpha = 1;
  if (isCritical) {
    context.fillStyle = palette.text;
    context.fillRect(x, y + high - 2, wide, 2);
  }
  if (wide < WORDS_FROM_PX || high < 13) return;
  context.save();
  context.beginPath();
  context.rect(Math.max(0, x), y, wide + Math.min(0, x) - 4, high);
  context.clip();
  context.fillStyle = isDimmed || isGroup ? palette.text : palette.surface;
  const attempt = span.attempt > 1 ? ` · try ${span.attempt}` : '';
  const count = doneText(span.row, items.get(span.row.id));
  const counted = count === undefined ? '' : ` · ${count}`;
  const text = `${titleOf(span.row)}${counted}${attempt}`;
  context.fillText(cut(context, text, wide + Math.min(0, x) - 9), Math.max(0, x) + 5, y + high / 2);
  context.restore();
}

/** A dotted line from the end of the try before to the start of this one; with a seam it can be seen on bars, too. */
function drawRetry(
  context: CanvasRenderingContext2D,
  { box, before }: Seen,
  colour: string,
  seam?: string,
): void {
  if (before === undefined) return;
  context.beginPath();
  context.moveTo(before.x + before.wide, before.y + before.high / 2);
  context.lineTo(box.x, box.y + box.high / 2);
  if (seam !== undefined) {
    context.lineWidth = 5;
    context.strokeStyle = seam;
    context.stroke();
  }
  context.setLineDash([2, 3]);
  context.lineWidth = 1.5;
  context.strokeStyle = colour;
  context.stroke();
  context.setLineDash([]);
}

function drawGrid(context: CanvasRenderingContext2D, scene: TimeScene, left: (ms: number) => number): void {
  context.strokeStyle = scene.palette.line;
  context.globalAlpha = 0.4;
  context.lineWidth = 1;
  context.beginPath();
  for (const { ms } of ticksOf(scene)) {
    const x = Math.round(left(ms)) + 0.5;
    context.moveTo(x, AXIS_PX);
    context.lineTo(x, scene.view.height);
  }
  context.stroke();
  context.globalAlpha = 1;
}

/** The name of a worker above its lanes. It stays in sight when the time is moved. */
function drawTitles(
  context: CanvasRenderingContext2D,
  { spans, time, view, palette }: TimeScene,
  high: number,
): void {
  context.font = `600 11px ${palette.font}`;
  context.textBaseline = 'middle';
  for (const { lane, text } of spans.titles) {
    const y = AXIS_PX + 4 + lane * high - time.topPx;
    if (y > view.height || y + high < AXIS_PX) continue;
    context.fillStyle = palette.line;
    context.fillRect(0, Math.round(y), view.width, 1);
    context.fillStyle = palette.text;
    context.fillText(text, 6, y + high / 2 + 1);
  }
}

function drawAxis(context: CanvasRenderingContext2D, scene: TimeScene, left: (ms: number) => number): void {
  const { palette, view } = scene;
  context.fillStyle = palette.quiet;
  context.font = `11px ${palette.font}`;
  context.textBaseline = 'middle';
  for (const { ms, text } of ticksOf(scene)) {
    const x = left(ms) + 4;
    if (x + context.measureText(text).width <= view.width) context.fillText(text, x, AXIS_PX / 2);
  }
  context.strokeStyle = palette.line;
  context.lineWidth = 1;
  context.strokeRect(-1, -1, view.width + 2, AXIS_PX + 0.5);
}

function ticksOf({ time, view }: TimeScene): ReturnType<typeof ticksFor> {
  const max = Math.max(2, Math.floor(view.width / TICK_PX));
  return ticksFor(view.width * time.msPerPx, max, Math.max(0, time.fromMs));
}

function outline(context: CanvasRenderingContext2D, colour: string, { x, y, wide, high }: Box): void {
  context.strokeStyle = colour;
  context.lineWidth = 2;
  context.strokeRect(x - 1, y - 1, wide + 2, high + 2);
}

function hatchOf(context: CanvasRenderingContext2D, palette: Palette): CanvasPattern | null {
  const tile = document.createElement('canvas');
  tile.width = 6;
  tile.height = 6;
  const own = tile.getContext('2d')!;
  own.strokeStyle = palette.surface;
  own.globalAlpha = 0.5;
  own.lineWidth = 1.2;
  own.beginPath();
  own.moveTo(0, 6);
  own.lineTo(6, 0);
  own.stroke();
  return context.createPattern(tile, 'repeat');
}

function statusOf({ outcome }: Span): Shown {
  return outcome === 'crashed' ? 'failed' : outcome;
}
