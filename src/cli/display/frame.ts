import { endedOf, totalOf } from '../../batch/counts.ts';
import { spendingText } from '../../batch/run/spending.ts';
import { printableLine } from '../../core/printable-text.ts';
import { spanText } from '../../core/words.ts';
import type { Colors } from '../output/colors.ts';
import { numberText, percentText, rateText, timeRangeText } from '../output/numbers.ts';
import {
  cutMiddleToWidth,
  cutToWidth,
  padEndToWidth,
  padStartToWidth,
  textWidth,
  wrapHanging,
} from '../output/text-layout.ts';
import { type DisplayedBatch, type DisplayedTask, runningCount } from './view.ts';

export interface FrameOptions {
  readonly columns: number;
  readonly rows: number;
  readonly colors: Colors;
  readonly now: number;
}

/** Narrower lines show only what matters most. */
const NARROW = 60;
const VERY_NARROW = 40;
const WIDEST_BAR = 60;
const SHARE_WIDTH = '100%'.length;
const MAX_WAITING_LINES = 4;
const WAITING = 'Waiting: ';

/** A progress bar, the counts and the running tasks. Never wider or higher than the terminal. */
export function frameLines(view: DisplayedBatch, options: FrameOptions): Line[] {
  // The last column stays free: terminals differ in how they handle it.
  const width = Math.max(1, options.columns - 1);
  const height = Math.max(1, options.rows - 1);
  if (height === 1) return [countsLine(view, width, options.colors, percentText(view.progress))];
  const lines = [barLine(view, width, options.colors), countsLine(view, width, options.colors)];
  if (view.note !== undefined && lines.length < height) {
    const note = wrapHanging(printableLine(view.note), width, 0)
      .split('\n')
      .slice(0, height - lines.length);
    lines.push(...note.map((line) => new Line(width).add(line, options.colors.yellow)));
  }
  // Half of the screen is left for lines that scroll above.
  const room = Math.min(height - lines.length, Math.max(3, Math.floor(options.rows / 2)));
  lines.push(...runningLines(view.running, room, width, options));
  const rest = Math.min(MAX_WAITING_LINES, height - lines.length);
  if ((view.waiting ?? []).length > 0 && rest > 0)
    lines.push(...waitingLines(view.waiting!, width, rest, options.colors));
  return lines;
}

function barLine({ name, counts, progress }: DisplayedBatch, width: number, colors: Colors): Line {
  const line = new Line(width);
  const percent = percentText(progress).padStart(4);
  const title = printableLine(name);
  if (width >= 30)
    line.column(title, Math.min(textWidth(title), Math.floor(width / 3)), colors.bold).add('  ');
  const total = totalOf(counts);
  const bar = Math.min(WIDEST_BAR, line.room - percent.length - 1);
  if (bar > 0) {
    addBar(line, { progress, failed: total === 0 ? 0 : counts.failed / total }, bar, colors);
    line.add(' ');
  }
  return line.add(percent.slice(-line.room), colors.bold);
}

/** The most important first. What does not fit is left out. */
function countsLine(view: DisplayedBatch, width: number, colors: Colors, lead?: string): Line {
  const { counts, cached = 0, ratePerSecond, timeLeft } = view;
  const [total, ended] = [totalOf(counts), endedOf(counts)];
  const line = new Line(width);
  if (lead !== undefined) line.add(`${lead} `, colors.bold);
  const [of, separator] = width < VERY_NARROW ? ['/', ' '] : [' of ', ' · '];
  const done = width < NARROW ? '' : ' done';
  line.add(`${numberText(counts.completed)}${of}${numberText(total)}${done}`);
  const add = (text: string, color?: (text: string) => string) => {
    if (line.room >= textWidth(text) + separator.length) line.add(separator, colors.dim).add(text, color);
  };
  if (counts.failed > 0) add(`${numberText(counts.failed)} failed`, colors.red);
  if (timeLeft !== undefined && ended < total) add(`${timeRangeText(timeLeft)} left`, colors.cyan);
  const running = runningCount(view);
  if (running > 0) add(`${numberText(running)} running`);
  if (cached > 0) add(`${numberText(cached)} from cache`);
  if (counts.skipped > 0) add(`${numberText(counts.skipped)} skipped`, colors.yellow);
  if (counts.cancelled > 0) add(`${numberText(counts.cancelled)} cancelled`, colors.yellow);
  if (ratePerSecond !== undefined && ratePerSecond > 0) add(rateText(ratePerSecond));
  if (view.spending !== undefined) add(spendingText(view.spending));
  for (const fact of view.facts ?? []) add(printableLine(fact));
  return line;
}

/** `Waiting: 04 for 02, 03 · 05 for 04 · 2 more`. As many as fit. */
function waitingLines(waiting: readonly string[], width: number, max: number, colors: Colors): Line[] {
  const separator = ' · ';
  const lines = [new Line(width).add(WAITING, colors.dim)];
  const texts = waiting.map(printableLine);
  for (const [index, text] of texts.entries()) {
    const line = lines.at(-1)!;
    const isFirst = index === 0;
    const left = texts.length - index;
    const needed = textWidth(separator) + textWidth(text);
    // The last line keeps room for what is left out.
    const kept = left > 1 && lines.length === max ? textWidth(`${separator}${numberText(left)} more`) : 0;
    if (isFirst || line.room >= needed + kept)
      line.add(isFirst ? '' : separator, colors.dim).add(text, colors.dim);
    else if (lines.length < max)
      lines.push(new Line(width).add(' '.repeat(WAITING.length) + text, colors.dim));
    else {
      line.add(`${separator}${numberText(left)} more`, colors.dim);
      break;
    }
  }
  return lines;
}

/** The longest running first. A group stands for its items. */
function runningLines(
  running: readonly DisplayedTask[],
  room: number,
  width: number,
  { colors, now }: FrameOptions,
): Line[] {
  if (room < 1 || running.length === 0) return [];
  const tasks = running.filter(({ group }) => group === undefined);
  const sorted = (tasks.length === 0 ? [...running] : tasks).sort((a, b) => a.startedAt - b.startedAt);
  const shown = sorted.slice(0, sorted.length > room ? room - 1 : room).map(toPlain);
  const notes = shown.filter(({ note }) => note !== undefined).length;
  const hasRoomForNotes = shown.length + notes <= room;
  const isNarrow = width < NARROW;
  const functions = isNarrow ? 0 : widest(shown, 'function', Math.floor(width * 0.25));
  const hasProgress = shown.some(({ progress }) => progress !== undefined);
  const times = shown.map(({ startedAt }) => elapsedText(now - startedAt));
  // The first is the longest. The minimum keeps the column from moving.
  const timeWidth = Math.max(6, times[0]?.length ?? 0);
  const share = Math.floor(width * (isNarrow ? 0.7 : 0.4));
  const beside = [timeWidth, functions, hasProgress && !isNarrow ? SHARE_WIDTH : 0];
  const left = beside.reduce((room, column) => (column === 0 ? room : room - column - 2), width);
  // Without steps to show, names take the rest of the line.
  const hasSteps = shown.some(({ step }) => step !== undefined);
  const names = widest(shown, 'name', hasSteps ? share : Math.max(share, left));
  const lines = shown.flatMap((task, index) => {
    const line = new Line(width).columnAtRight(times[index]!, timeWidth, colors.dim);
    line.add('  ').column(task.name, Math.min(names, line.room));
    if (functions > 0) line.add('  ').column(task.function, functions, colors.dim);
    if (hasProgress && !isNarrow)
      line.add('  ').columnAtRight(shareText(task.progress), SHARE_WIDTH, colors.cyan);
    if (task.step !== undefined && line.room > 6) line.add('  ').add(task.step, colors.dim);
    if (task.note === undefined || !hasRoomForNotes) return [line];
    const below = new Line(width).add(' '.repeat(timeWidth + 2)).add(task.note, colors.yellow);
    return [line, below];
  });
  const more = sorted.length - shown.length;
  if (more > 0) {
    const lead = ' '.repeat(width < NARROW / 2 ? 0 : timeWidth + 2);
    lines.push(new Line(width).add(`${lead}… and ${numberText(more)} more`, colors.dim));
  }
  return lines;
}

function toPlain(task: DisplayedTask): DisplayedTask {
  const { name, function: functionName, step, note } = task;
  return {
    ...task,
    name: printableLine(name),
    function: printableLine(functionName),
    step: step === undefined ? undefined : printableLine(step),
    note: note === undefined ? undefined : printableLine(note),
  };
}

function widest(tasks: readonly DisplayedTask[], key: 'name' | 'function', max: number): number {
  return tasks.reduce((width, task) => Math.min(max, Math.max(width, textWidth(task[key]))), 0);
}

function shareText(progress: number | undefined): string {
  return progress === undefined ? '' : percentText(progress);
}

/** In whole seconds, so that lines are redrawn rarely. */
function elapsedText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  return seconds === 0 ? '0 s' : spanText(seconds * 1000);
}

/** Builds a line from pieces of text that may be colored, up to a number of columns. */
export class Line {
  text = '';
  width = 0;

  constructor(private readonly columns: number) {}

  get room(): number {
    return this.columns - this.width;
  }

  /** Adds plain text, cut at the end of the line. */
  add(text: string, color: (text: string) => string = unchanged): this {
    const cut = cutToWidth(text, this.room);
    this.text += color(cut);
    this.width += textWidth(cut);
    return this;
  }

  /** Adds a name, cut in the middle and padded. */
  column(text: string, width: number, color?: (text: string) => string): this {
    return this.add(padEndToWidth(cutMiddleToWidth(text, width), width), color);
  }

  columnAtRight(text: string, width: number, color?: (text: string) => string): this {
    return this.add(padStartToWidth(cutToWidth(text, width), width), color);
  }
}

function unchanged(text: string): string {
  return text;
}

const DONE = '━';
const LEFT = '─';

/** Draws a bar. Any failure shows, however small its share, and the bar is full only at the end. */
function addBar(
  line: Line,
  { progress, failed }: { readonly progress: number; readonly failed: number },
  width: number,
  colors: Colors,
): void {
  const red = failed > 0 ? Math.max(1, Math.round(failed * width)) : 0;
  const full = progress + failed >= 1 ? width : width - 1;
  const done = Math.max(0, Math.min(full - red, Math.round(progress * width)));
  line
    .add(DONE.repeat(done), colors.green)
    .add(DONE.repeat(red), colors.red)
    .add(LEFT.repeat(Math.max(0, width - done - red)), colors.dim);
}
